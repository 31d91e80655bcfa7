//! A digest of results in Markdown, computed and not thought up.
//!
//! Main functions: [`write`] and [`structure`], the same as JSON. Names what stands out, shows the
//! tables, the lowest and highest of each column, and the other results under their steps. Bounded in
//! size; knows no domain, so it gives figures and no advice.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::super::NamedResult;
use super::markdown::{inline, show};
use super::table::{Table, tables};

/// The last line of every digest begins like this.
const LABEL: &str = "_Digest computed offline, without a language model";

const MAX_TABLES: usize = 5;
const MAX_ROWS: usize = 30;
const MAX_COLUMNS: usize = 12;
const MAX_OTHERS: usize = 20;
/// In characters: a cell of a table, a line of text.
const CELL: usize = 60;
const LINE: usize = 300;

/// The digest of some results under a title. `None` where there is nothing to say.
pub(super) fn write(title: Option<&str>, results: &[&NamedResult]) -> Option<String> {
    let (tables, others) = tables(results);
    let others: Vec<&NamedResult> = others.into_iter().filter(|result| !is_digest(&result.value)).collect();
    if tables.is_empty() && others.is_empty() {
        return None;
    }
    let mut parts: Vec<String> =
        title.map(|title| format!("# {}", inline(title, LINE))).into_iter().collect();
    let mut explained = false;
    for table in tables.iter().take(MAX_TABLES) {
        let standing_out = table.standing_out();
        explained |= !standing_out.is_empty();
        parts.extend(standing_out.iter().take(3).map(|key| stand_out_line(table, key)));
        parts.push(grid(table));
        parts.extend(extremes(table));
    }
    if tables.len() > MAX_TABLES {
        parts.push(format!("_{} more tables are not shown._", tables.len() - MAX_TABLES));
    }
    if !others.is_empty() {
        parts.extend((!tables.is_empty()).then(|| "Other results:".to_owned()));
        parts.push(list(&others));
    }
    let how = if explained {
        "; what stands out is furthest from the median over the columns of figures"
    } else {
        ""
    };
    parts.push(format!("{LABEL}{how}._"));
    Some(parts.join("\n\n"))
}

/// The tables of some results as JSON: `stands_out`, `columns` with their lowest and highest, `rows`.
pub(super) fn structure(results: &[&NamedResult]) -> Option<Value> {
    let (tables, _) = tables(results);
    let table = tables.first()?;
    let key = table.key.as_deref().unwrap_or(if table.keyed { "name" } else { "row" });
    let rows = table.rows.iter().map(|(name, row)| {
        let own = (key.to_owned(), Value::from(name.as_str()));
        let cells = table
            .columns
            .iter()
            .zip(row)
            .map(|(column, cell)| (column.clone(), cell.clone().unwrap_or(Value::Null)));
        Value::Object(std::iter::once(own).chain(cells).collect())
    });
    let columns = table.figure_columns().into_iter().map(|column| {
        let ends = Ends::of(table, column);
        (table.columns[column].clone(), json!({"lowest": ends.lowest, "highest": ends.highest}))
    });
    Some(json!({
        "stands_out": table.standing_out(),
        "columns": columns.collect::<Map<_, _>>(),
        "rows": rows.collect::<Vec<_>>(),
    }))
}

/// The keys at both ends of a column of figures.
struct Ends<'a> {
    lowest: Vec<&'a str>,
    highest: Vec<&'a str>,
    /// How many rows have a figure.
    count: usize,
}

impl<'a> Ends<'a> {
    fn of(table: &'a Table, column: usize) -> Self {
        let figures = table.figures(column);
        let lowest = figures.iter().map(|(_, figure)| *figure).fold(f64::INFINITY, f64::min);
        let highest = figures.iter().map(|(_, figure)| *figure).fold(f64::NEG_INFINITY, f64::max);
        let at = |end: f64| {
            figures.iter().filter(|(_, figure)| figure.total_cmp(&end).is_eq()).map(|(key, _)| *key).collect()
        };
        Self { lowest: at(lowest), highest: at(highest), count: figures.len() }
    }

    fn all_alike(&self) -> bool {
        self.lowest.len() == self.count
    }
}

/// "**Apparel stands out**: lowest sales (38000), highest return rate (18%), stock 4200."
fn stand_out_line(table: &Table, key: &str) -> String {
    let (mut ends, mut rest) = (Vec::new(), Vec::new());
    for column in table.figure_columns().into_iter().take(MAX_COLUMNS) {
        let Some(cell) = table.rows.get(key).and_then(|row| row[column].as_ref()) else { continue };
        let (name, cell) = (words(&table.columns[column]), show(cell, CELL));
        let at = Ends::of(table, column);
        if at.count > 1 && !at.all_alike() && at.lowest == [key] {
            ends.push(format!("lowest {name} ({cell})"));
        } else if at.count > 1 && !at.all_alike() && at.highest == [key] {
            ends.push(format!("highest {name} ({cell})"));
        } else {
            rest.push(format!("{name} {cell}"));
        }
    }
    ends.append(&mut rest);
    format!("**{} stands out**: {}.", row_name(table, key), ends.join(", "))
}

/// One line a column of figures: its lowest and its highest, with their rows.
fn extremes(table: &Table) -> Option<String> {
    let line = |column: usize| {
        let ends = Ends::of(table, column);
        let name = words(&table.columns[column]);
        let figure = |keys: &[&str]| {
            let cell = keys.first().and_then(|key| table.rows.get(*key)?[column].as_ref());
            cell.map(|cell| show(cell, CELL)).unwrap_or_default()
        };
        let (low, high) = (figure(&ends.lowest), figure(&ends.highest));
        if ends.all_alike() {
            return match ends.lowest.as_slice() {
                [only] => format!("- {name}: {low} ({})", row_name(table, only)),
                _ => format!("- {name}: {low} everywhere"),
            };
        }
        let (lowest, highest) = (names(table, &ends.lowest), names(table, &ends.highest));
        format!("- {name}: lowest {low} ({lowest}), highest {high} ({highest})")
    };
    let columns = table.figure_columns();
    // A single row has no extremes; its figures stand in the table.
    let lines: Vec<String> = columns.into_iter().take(MAX_COLUMNS).map(line).collect();
    (table.rows.len() > 1 && !lines.is_empty()).then(|| lines.join("\n"))
}

/// The table itself, cut where it is long or wide.
fn grid(table: &Table) -> String {
    let figures = table.figure_columns();
    let shown = table.columns.len().min(MAX_COLUMNS);
    let key = table.key.as_deref().unwrap_or(if table.keyed { "" } else { "row" });
    let mut text = format!("| {} |", words(key));
    for column in &table.columns[..shown] {
        let _infallible = write!(text, " {} |", words(column));
    }
    text.push_str("\n| --- |");
    for column in 0..shown {
        text.push_str(if figures.contains(&column) { " ---: |" } else { " --- |" });
    }
    for (key, row) in table.rows.iter().take(MAX_ROWS) {
        let _infallible = write!(text, "\n| {} |", inline(key, CELL));
        for cell in &row[..shown] {
            let cell = cell.as_ref().map(|cell| show(cell, CELL)).unwrap_or_default();
            let _infallible = write!(text, " {cell} |");
        }
    }
    let (rows, columns) = (table.rows.len().saturating_sub(MAX_ROWS), table.columns.len() - shown);
    match (rows, columns) {
        (0, 0) => {}
        (rows, 0) => text.push_str(&format!("\n\n_{rows} more rows are not shown._")),
        (0, columns) => text.push_str(&format!("\n\n_{columns} more columns are not shown._")),
        (rows, columns) => {
            text.push_str(&format!("\n\n_{rows} more rows and {columns} more columns are not shown._"));
        }
    }
    text
}

/// Results that are no tables, each under its step.
fn list(others: &[&NamedResult]) -> String {
    let mut lines = Vec::new();
    for result in others.iter().take(MAX_OTHERS) {
        let title = if result.title.trim().is_empty() {
            format!("step {}", result.step)
        } else {
            result.title.clone()
        };
        let title = inline(title.trim_end_matches(['.', ':']), CELL * 2);
        match &result.value {
            Value::Object(map) if !map.is_empty() => {
                lines.push(format!("- {title}:"));
                let pairs = map.iter().take(MAX_ROWS);
                lines.extend(pairs.map(|(key, value)| format!("  - {}: {}", words(key), show(value, LINE))));
                if map.len() > MAX_ROWS {
                    lines.push(format!("  - _{} more are not shown._", map.len() - MAX_ROWS));
                }
            }
            Value::Array(items) if items.is_empty() => lines.push(format!("- {title}: nothing")),
            Value::Null => lines.push(format!("- {title}: nothing")),
            value => lines.push(format!("- {title}: {}", show(value, LINE))),
        }
    }
    if others.len() > MAX_OTHERS {
        lines.push(format!("- _{} more results are not shown._", others.len() - MAX_OTHERS));
    }
    lines.join("\n")
}

/// Whether a result is a digest already: it says nothing that is not in the results it was made of.
fn is_digest(value: &Value) -> bool {
    value.as_str().and_then(|text| text.lines().last()).is_some_and(|line| line.starts_with(LABEL))
}

fn names(table: &Table, keys: &[&str]) -> String {
    let shown: Vec<String> = keys.iter().take(3).map(|key| row_name(table, key)).collect();
    match keys.len().saturating_sub(3) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn row_name(table: &Table, key: &str) -> String {
    if table.keyed { inline(key, CELL) } else { format!("row {key}") }
}

/// The name of a column as words.
fn words(name: &str) -> String {
    inline(&name.replace('_', " "), CELL)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{structure, write};
    use crate::llm::NamedResult;

    fn result(step: i64, title: &str, tool: Option<&str>, value: Value) -> NamedResult {
        NamedResult { step: step.into(), title: title.into(), tool: tool.map(Into::into), value }
    }

    fn report(apparel_sales: i64) -> Vec<NamedResult> {
        vec![
            result(
                1,
                "Fetch sales",
                Some("fetch_sales_data"),
                json!([
                    {"category": "Electronics", "sales": 142_000}, {"category": "Home", "sales": 96_000},
                    {"category": "Beauty", "sales": 85_000}, {"category": "Sports", "sales": 72_000},
                    {"category": "Toys", "sales": 64_000}, {"category": "Apparel", "sales": apparel_sales},
                ]),
            ),
            result(
                2,
                "Fetch return rates",
                Some("fetch_return_rates"),
                json!([
                    {"category": "Apparel", "return_rate": "18%"}, {"category": "Sports", "return_rate": "6%"},
                    {"category": "Beauty", "return_rate": "5%"}, {"category": "Toys", "return_rate": "5%"},
                    {"category": "Home", "return_rate": "4%"}, {"category": "Electronics", "return_rate": "3%"},
                ]),
            ),
        ]
    }

    fn digest(title: Option<&str>, results: &[NamedResult]) -> String {
        write(title, &results.iter().collect::<Vec<_>>()).expect("there are results")
    }

    #[track_caller]
    fn golden(name: &str, got: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/offline").join(name);
        let want = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(got, want.trim_end(), "{} should hold:\n{got}\n", path.display());
    }

    #[test]
    fn the_weekly_report_names_what_stands_out() {
        let mut results = report(38_000);
        let reasoning = digest(None, &results);
        golden("reasoning.md", &reasoning);
        results.push(result(3, "Say which underperform", None, json!(reasoning)));
        let stock = json!([{"category": "Apparel", "stock": 4200, "weeks_cover": 11}]);
        results.push(result(4, "Fetch stock", Some("fetch_inventory_levels"), stock));
        golden("aggregate.md", &digest(Some("Product health report for week 2026-W48"), &results));
    }

    #[test]
    fn the_text_follows_the_figures() {
        let text = digest(None, &report(151_000));
        assert!(text.contains("highest sales (151000)"), "{text}");
        assert!(text.contains("- sales: lowest 64000 (Toys), highest 151000 (Apparel)"), "{text}");
    }

    #[test]
    fn other_results_stand_under_their_steps() {
        let results = [
            result(1, "Count words", Some("count"), json!(12)),
            result(2, "Read the notes.", Some("read"), json!("one | two\nthree\u{1b}[0m")),
            result(
                3,
                "Ask for the state",
                Some("state"),
                json!({"status": "ok", "tags": ["a", "b"], "n": 3}),
            ),
            result(4, "Search", Some("search"), json!([])),
            result(5, "Explain", None, json!("Because *it* is so.")),
            result(6, "", None, json!(null)),
            result(7, "Rows", Some("rows"), json!([{"n": 1, "ok": true}, {"n": 2.5, "ok": false}])),
        ];
        golden("others.md", &digest(None, &results));
    }

    #[test]
    fn long_tables_are_cut_with_a_mark() {
        let row = |at: usize| json!({"name": format!("n{at}"), "figure": at, "text": "x".repeat(5000)});
        let results = [result(1, "Rows", Some("rows"), (0..20_000).map(row).collect())];
        let text = digest(None, &results);
        assert!(text.contains("_19970 more rows are not shown._"), "{text}");
        assert!(text.contains("highest 19999 (n19999)"), "{text}");
        assert!(text.len() < 8000, "{}", text.len());
    }

    #[test]
    fn nothing_has_no_digest() {
        assert_eq!(write(Some("title"), &[]), None);
    }

    #[test]
    fn the_structure_says_the_same() {
        let results = report(38_000);
        let structure = structure(&results.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(structure["stands_out"], json!(["Apparel"]));
        assert_eq!(structure["columns"]["sales"], json!({"lowest": ["Apparel"], "highest": ["Electronics"]}));
        assert_eq!(
            structure["rows"][5],
            json!({"category": "Apparel", "sales": 38_000, "return_rate": "18%"})
        );
    }
}
