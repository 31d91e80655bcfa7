//! What a parsed template reads from outside.
//!
//! Main type: [`Names`]. Walks the engine's syntax tree, keeping track of the names a text binds itself
//! (`set`, `for`, `with`); knows nothing of what the names mean.

use std::collections::HashSet;
use std::ops::Range;

use minijinja::machinery::{Span, ast};

use super::Read;

/// Functions the engine has; they are not read from the scope.
const FUNCTIONS: [&str; 3] = ["range", "dict", "namespace"];

/// The names in a text.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// In the order of the text.
    pub reads: Vec<Read>,
    /// Filters and tests: which of the two, the name, where.
    pub helpers: Vec<(&'static str, String, Range<usize>)>,
}

/// The names in a template.
pub(super) fn names_of_template(tree: &ast::Stmt<'_>) -> Names {
    let mut walk = Walk { names: Names::default(), bound: vec![HashSet::new()] };
    walk.statement(tree);
    walk.finish()
}

/// The names in an expression.
pub(super) fn names_of_expression(tree: &ast::Expr<'_>) -> Names {
    let mut walk = Walk { names: Names::default(), bound: vec![HashSet::new()] };
    walk.expression(tree);
    walk.finish()
}

struct Walk<'a> {
    names: Names,
    bound: Vec<HashSet<&'a str>>,
}

impl<'a> Walk<'a> {
    fn finish(mut self) -> Names {
        self.names.reads.sort_by_key(|read| (read.range.start, read.range.end));
        self.names
    }

    fn statement(&mut self, statement: &ast::Stmt<'a>) {
        match statement {
            ast::Stmt::Template(template) => self.statements(&template.children),
            ast::Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            ast::Stmt::EmitRaw(_) => {}
            ast::Stmt::ForLoop(each) => {
                self.expression(&each.iter);
                self.bound.push(HashSet::from(["loop"]));
                self.bind(&each.target);
                each.filter_expr.iter().for_each(|filter| self.expression(filter));
                self.statements(&each.body);
                self.bound.pop();
                self.block(&each.else_body);
            }
            ast::Stmt::IfCond(condition) => {
                self.expression(&condition.expr);
                // What a branch sets is set after it too, but only if it was taken: what is read later
                // must be there either way, so it counts as read.
                self.block(&condition.true_body);
                self.block(&condition.false_body);
            }
            ast::Stmt::WithBlock(with) => {
                self.bound.push(HashSet::new());
                for (target, value) in &with.assignments {
                    self.expression(value);
                    self.bind(target);
                }
                self.statements(&with.body);
                self.bound.pop();
            }
            ast::Stmt::Set(set) => {
                self.expression(&set.expr);
                self.bind(&set.target);
            }
            ast::Stmt::SetBlock(set) => {
                set.filter.iter().for_each(|filter| self.expression(filter));
                self.block(&set.body);
                self.bind(&set.target);
            }
            ast::Stmt::AutoEscape(escape) => {
                self.expression(&escape.enabled);
                self.block(&escape.body);
            }
            ast::Stmt::FilterBlock(filter) => {
                self.expression(&filter.filter);
                self.block(&filter.body);
            }
            ast::Stmt::Do(call) => self.call(&call.call),
        }
    }

    fn statements(&mut self, statements: &[ast::Stmt<'a>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn block(&mut self, statements: &[ast::Stmt<'a>]) {
        self.bound.push(HashSet::new());
        self.statements(statements);
        self.bound.pop();
    }

    fn bind(&mut self, target: &ast::Expr<'a>) {
        match target {
            ast::Expr::Var(name) => {
                if let Some(names) = self.bound.last_mut() {
                    names.insert(name.id);
                }
            }
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.bind(item)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.bind(item)),
            // `ns.name` sets into a namespace, which must be there already.
            other => self.expression(other),
        }
    }

    fn expression(&mut self, expression: &ast::Expr<'a>) {
        match expression {
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => {
                self.chain(expression, false)
            }
            ast::Expr::Slice(slice) => {
                self.chain(&slice.expr, true);
                for bound in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.expression(bound);
                }
            }
            ast::Expr::Const(_) => {}
            ast::Expr::UnaryOp(unary) => self.expression(&unary.expr),
            ast::Expr::BinOp(binary) => {
                self.expression(&binary.left);
                self.expression(&binary.right);
            }
            ast::Expr::Compare(compare) => {
                self.expression(&compare.expr);
                compare.ops.iter().for_each(|operation| self.expression(&operation.expr));
            }
            ast::Expr::IfExpr(choice) => {
                self.expression(&choice.test_expr);
                self.expression(&choice.true_expr);
                choice.false_expr.iter().for_each(|otherwise| self.expression(otherwise));
            }
            ast::Expr::Filter(filter) => {
                self.names.helpers.push(("filter", filter.name.to_owned(), range(filter.span())));
                filter.expr.iter().for_each(|value| self.expression(value));
                self.arguments(&filter.args);
            }
            ast::Expr::Test(test) => {
                self.names.helpers.push(("test", test.name.to_owned(), range(test.span())));
                self.expression(&test.expr);
                self.arguments(&test.args);
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.expression(item)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.expression(item)),
            ast::Expr::Map(map) => map.keys.iter().chain(&map.values).for_each(|part| self.expression(part)),
        }
    }

    fn call(&mut self, call: &ast::Spanned<ast::Call<'a>>) {
        match &call.expr {
            ast::Expr::Var(name) if FUNCTIONS.contains(&name.id) => {}
            callee => self.expression(callee),
        }
        self.arguments(&call.args);
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'a>]) {
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(value)
                | ast::CallArg::Kwarg(_, value)
                | ast::CallArg::PosSplat(value)
                | ast::CallArg::KwargSplat(value) => self.expression(value),
            }
        }
    }

    /// A name with what follows it: `steps["1"].result`.
    fn chain(&mut self, expression: &ast::Expr<'a>, dynamic: bool) {
        let mut parts: Vec<Option<String>> = Vec::new();
        let mut at = expression;
        let root = loop {
            match at {
                ast::Expr::GetAttr(get) => {
                    parts.push(Some(get.name.to_owned()));
                    at = &get.expr;
                }
                ast::Expr::GetItem(get) => {
                    parts.push(literal(&get.subscript_expr));
                    if parts.last().is_some_and(Option::is_none) {
                        self.expression(&get.subscript_expr);
                    }
                    at = &get.expr;
                }
                ast::Expr::Var(name) => break name,
                other => return self.expression(other),
            }
        };
        if self.bound.iter().any(|names| names.contains(root.id)) {
            return;
        }
        parts.reverse();
        let total = parts.len();
        let path: Vec<String> = parts.into_iter().map_while(|part| part).collect();
        self.names.reads.push(Read {
            root: root.id.to_owned(),
            dynamic: dynamic || path.len() < total,
            path,
            range: range(root.span()).start..range(expression.span()).end,
        });
    }
}

fn literal(expression: &ast::Expr<'_>) -> Option<String> {
    let value = expression.as_const()?;
    match value.as_str() {
        Some(text) => Some(text.to_owned()),
        None => value.as_i64().filter(|_| value.is_integer()).map(|number| number.to_string()),
    }
}

fn range(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}
