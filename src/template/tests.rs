//! Templates against a table of texts: what they give, what they read, what they refuse; and that no
//! text breaks the parser.
//!
//! Knows where a template may stand in a file as little as the templates do.

use proptest::prelude::{any, proptest};
use serde_json::{Value, json};

use super::{Condition, Template};

fn scope() -> Value {
    json!({
        "inputs": {"week": "2026-W48", "n": 1, "f": 1.0, "big": 9_007_199_254_740_993_i64, "huge": u64::MAX, "no": null,
            "yes": true, "list": [1, "a", null], "object": {"z": 1, "a": {"y": 2, "b": 3}}, "braces": "{{ inputs.week }}"},
        "steps": {"1": {"result": 5}, "a-b": {"result": [10, 20]}},
    })
}

fn render(text: &str) -> Value {
    Template::parse(text).unwrap().render(&scope()).unwrap()
}

fn fails(text: &str) -> String {
    Template::parse(text).and_then(|template| template.render(&scope())).unwrap_err().message
}

#[test]
fn one_expression_keeps_its_type() {
    for (text, value) in [
        ("{{ inputs.n }}", json!(1)),
        ("{{ inputs.f }}", json!(1.0)),
        ("{{inputs.big}}", json!(9_007_199_254_740_993_i64)),
        ("{{ inputs.huge }}", json!(u64::MAX)),
        ("{{ inputs.no }}", json!(null)),
        ("{{ inputs.yes }}", json!(true)),
        ("{{- inputs.list -}}", json!([1, "a", null])),
        ("{{ inputs.object }}", json!({"z": 1, "a": {"y": 2, "b": 3}})),
        ("{{ steps['1'].result + 1 }}", json!(6)),
        ("{{ steps[1].result }}", json!(5)),
        ("{{ steps['a-b'].result[1] }}", json!(20)),
        ("{{ inputs.braces }}", json!("{{ inputs.week }}")),
        ("{{ inputs.missing | default('none') }}", json!("none")),
        ("{{ inputs.n if inputs.yes else 2 }}", json!(1)),
    ] {
        let found = render(text);
        assert_eq!(found.to_string(), value.to_string(), "{text}");
    }
}

#[test]
fn values_in_text_are_json_and_strings_are_themselves() {
    for (text, value) in [
        ("n={{ inputs.n }} f={{ inputs.f }}", "n=1 f=1.0"),
        ("{{ inputs.yes }} {{ inputs.no }} {{ inputs.week }}", "true null 2026-W48"),
        ("{{ inputs.object }}!", "{\"z\":1,\"a\":{\"y\":2,\"b\":3}}!"),
        ("{{ inputs.braces }}.", "{{ inputs.week }}."),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("a{# note #}b\n", "ab\n"),
        ("{{ inputs.n }}\n", "1\n"),
        ("{% for x in inputs.list %}{{ x }},{% endfor %}", "1,a,null,"),
        ("<{{ '<&>' }}>", "<<&>>"),
    ] {
        assert_eq!(render(text), json!(value), "{text}");
    }
}

#[test]
fn what_is_not_there_is_an_error() {
    assert_eq!(fails("{{ inputs.missing }}"), "`inputs.missing` has no value");
    assert_eq!(fails("x {{ inputs.missing }}"), "`inputs.missing` has no value");
    assert!(fails("{{ nothing.at.all }}").contains("nothing"));
    assert_eq!(fails("{{ 1 | wobble }}"), "there is no filter named `wobble`");
    assert_eq!(fails("{{ 1 is wobble }}"), "there is no test named `wobble`");
    assert_eq!(
        fails("{% for a in range(10000) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"),
        "the template does too much work"
    );
    assert!(Template::parse("{% include 'x' %}").is_err());
    assert!(Template::parse("{{ 'x").is_err());
}

#[test]
fn a_syntax_error_has_its_place() {
    let error = Template::parse("hello {{ inputs. }}").unwrap_err();
    assert_eq!(error.range.map(|range| range.start), Some(17));
}

#[test]
fn reads_are_literal_paths_without_what_the_text_binds() {
    let reads = |text: &str| -> Vec<String> {
        let template = Template::parse(text).unwrap();
        let shown = template.reads().iter().map(|read| {
            let dots = read.path.iter().map(|part| format!(".{part}")).collect::<String>();
            format!(
                "{}{dots}{}={}",
                read.root,
                if read.dynamic { "[?]" } else { "" },
                &text[read.range.clone()]
            )
        });
        shown.collect()
    };
    for (text, expected) in [
        ("{{ inputs.week }}", vec!["inputs.week=inputs.week"]),
        ("{{ steps[\"1\"].result }}", vec!["steps.1.result=steps[\"1\"].result"]),
        ("{{ steps['a-b'].result[0] }}", vec!["steps.a-b.result.0=steps['a-b'].result[0]"]),
        ("{{ steps[inputs.n].result }}", vec!["steps[?]=steps[inputs.n].result", "inputs.n=inputs.n"]),
        ("{{ steps | length }}", vec!["steps=steps"]),
        ("{{ inputs.list[1:] }}", vec!["inputs.list[?]=inputs.list"]),
        ("{% set a = env.X %}{{ a.b }}{{ c }}", vec!["env.X=env.X", "c=c"]),
        (
            "{% for k in inputs.list %}{{ loop.index }}{{ k }}{% endfor %}{{ k }}",
            vec!["inputs.list=inputs.list", "k=k"],
        ),
        ("{{ range(3) | join(inputs.week) }}", vec!["inputs.week=inputs.week"]),
        ("{{ a if b else c }}", vec!["a=a", "b=b", "c=c"]),
        ("{{ {'k': inputs.n} }}", vec!["inputs.n=inputs.n"]),
        ("no template: { { inputs.x } }", vec![]),
    ] {
        assert_eq!(reads(text), expected, "{text}");
    }
}

#[test]
fn conditions_hold_or_not() {
    for (text, holds) in [
        ("inputs.week != ''", true),
        ("steps['1'].result > 5", false),
        ("inputs.no", false),
        ("inputs.missing is defined", false),
        ("'a' in inputs.list and not inputs.no", true),
    ] {
        assert_eq!(Condition::parse(text).unwrap().holds(&scope()), Ok(holds), "{text}");
    }
    assert!(Condition::parse("inputs.missing").unwrap().holds(&scope()).is_err());
    assert!(Condition::parse("inputs.missing > 1").unwrap().holds(&scope()).is_err());
    assert!(Condition::parse("{{ inputs.week }}").unwrap_err().message.contains("without braces"));
    assert!(Condition::parse("inputs.week ==").is_err());
}

proptest! {
    #[test]
    fn escaped_text_renders_to_itself(text in "[{}%#\"a\n\\-+ ]{0,12}|\\PC{0,20}") {
        let escaped = Template::escape(&text);
        assert_eq!(Template::parse(&escaped).unwrap().render(&json!({})).unwrap(), json!(text));
        assert_eq!(Template::parse(&escaped).unwrap().render_text(&json!({})).unwrap(), text);
    }

    #[test]
    fn no_text_breaks_the_parser(text in any::<String>()) {
        let _ = Template::parse(&text);
        let _ = Template::parse(&format!("{{{{ {text} }}}}"));
        let _ = Condition::parse(&text);
    }
}

#[test]
fn values_in_a_url_are_one_component_each() {
    let scope = json!({"args": {"name": "a/b ?#é", "n": 7, "list": [1]}});
    let url = Template::parse("https://x.example/a?b/{{ args.name }}/{{ args.n }}?l={{ args.list }}")
        .expect("parses");
    let expected = "https://x.example/a?b/a%2Fb%20%3F%23%C3%A9/7?l=%5B1%5D";
    assert_eq!(url.render_url(&scope).as_deref(), Ok(expected));
    assert_eq!(
        Template::literal("https://x.example/ {{").render_url(&scope).as_deref(),
        Ok("https://x.example/ {{")
    );
}
