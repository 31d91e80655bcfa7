//! How mistakes are shown: every format, hostile text, narrow places.
//!
//! The text form is written out as people see it.

use super::*;

const TEXT: &str =
    "name: report\nworkflow_sequence:\n  - id: 2\n    type: tool_call\n    tool: fetch_sale_data\n";

fn wide() -> Look {
    Look { width: 80, ..Look::default() }
}

fn unknown_tool() -> (Source, Diagnostic) {
    let source = Source::new("workflows/weekly_report.yaml", TEXT);
    let at = TEXT.find("fetch_sale_data").unwrap();
    let span = Span::new(at, at + "fetch_sale_data".len());
    let diagnostic = Diagnostic::new(Code::UnknownTool, span, "no tool named `fetch_sale_data`")
        .path("workflow_sequence[0].tool")
        .help("known tools: add, fetch_sales_data")
        .related(Span::new(34, 41), "this step")
        .suggest(span, "fetch_sales_info");
    (source, diagnostic)
}

#[test]
fn text_shows_place_mistake_line_and_what_to_do() {
    let (source, diagnostic) = unknown_tool();
    insta::assert_snapshot!(text(&source, &diagnostic, wide()), @r"
    workflows/weekly_report.yaml:5:11: error[unknown-tool]: no tool named `fetch_sale_data`
       ╭────
     3 │   - id: 2
       ·   ───┬───
       ·      ╰── this step
       ╰────
       ╭────
     5 │     tool: fetch_sale_data
       ·           ───────┬───────
       ·                  ╰── did you mean `fetch_sales_info`?
       ╰────
      help: known tools: add, fetch_sales_data
      more: wf explain unknown-tool
    ");
}

#[test]
fn ascii_and_far_places_and_colours() {
    let (source, mut diagnostic) = unknown_tool();
    diagnostic.related[0].span = Span::new(0, 4);
    insta::assert_snapshot!(text(&source, &diagnostic, Look { unicode: false, ..wide() }), @r"
    workflows/weekly_report.yaml:5:11: error[unknown-tool]: no tool named `fetch_sale_data`
       ,----
     1 | name: report
       : ^^|^
       :   `-- this step
       `----
       ,----
     5 |     tool: fetch_sale_data
       :           ^^^^^^^|^^^^^^^
       :                  `-- did you mean `fetch_sales_info`?
       `----
      help: known tools: add, fetch_sales_data
      more: wf explain unknown-tool
    ");
    let coloured = text(&source, &diagnostic, Look { colour: true, ..wide() });
    let plain = text(&source, &diagnostic, wide());
    assert!(
        coloured.starts_with("workflows/weekly_report.yaml:5:11: \x1b[1;31merror[unknown-tool]\x1b[0m: ")
    );
    assert_eq!(console::strip_ansi_codes(&coloured), plain);
}

#[test]
fn short_is_one_line() {
    let (source, mut diagnostic) = unknown_tool();
    diagnostic.message.push_str("\n\u{1b}[2J");
    assert_eq!(
        short(&source, &diagnostic, wide()),
        "workflows/weekly_report.yaml:5:11: error[unknown-tool]: no tool named `fetch_sale_data`\\n\\x1b[2J"
    );
}

#[test]
fn json_is_the_documented_form() {
    let (source, diagnostic) = unknown_tool();
    let value = json(&[Checked { source, diagnostics: vec![diagnostic] }], false);
    let place = |line: usize, column: usize, byte: usize| serde_json::json!({"line": line, "column": column, "byte": byte});
    let range = serde_json::json!({"start": place(5, 11, 72), "end": place(5, 26, 87)});
    assert_eq!(
        value,
        serde_json::json!({
            "version": 1,
            "result": "invalid",
            "diagnostics": [{
                "code": "unknown-tool",
                "severity": "error",
                "message": "no tool named `fetch_sale_data`",
                "help": "known tools: add, fetch_sales_data",
                "file": "workflows/weekly_report.yaml",
                "range": range,
                "path": "workflow_sequence[0].tool",
                "related": [{
                    "message": "this step",
                    "file": "workflows/weekly_report.yaml",
                    "range": {"start": place(3, 3, 34), "end": place(3, 10, 41)},
                }],
                "suggestion": {"range": range, "replacement": "fetch_sales_info"},
            }],
            "counts": {"files": 1, "errors": 1, "warnings": 0},
        })
    );
}

#[test]
fn warnings_make_a_file_invalid_only_where_they_are_denied() {
    let source = Source::new("a.yaml", "a");
    let diagnostics = vec![Diagnostic::new(Code::UnusedTool, Span::new(0, 1), "the tool `a` is not used")];
    let checked =
        [Checked { source, diagnostics }, Checked { source: Source::new("b", ""), diagnostics: vec![] }];
    assert_eq!(json(&checked, false)["result"], "valid");
    assert_eq!(json(&checked, true)["result"], "invalid");
    assert_eq!(summary(&checked), "1 warning in 1 of 2 files");
    assert_eq!(summary(&checked[1..]), "1 file checked, no mistakes");
}

#[test]
fn hostile_text_and_long_lines_are_shown_where_they_matter() {
    let long = format!("{}\u{1b}[2J\u{202e}key: |\r\n\tx\n", "ñ".repeat(500));
    let source = Source::new("evil\n.yaml", long.as_str());
    let at = long.find("key").unwrap();
    let diagnostic = Diagnostic::new(Code::ControlCharacter, Span::new(at - 7, at), "a \u{1b} is here");
    let shown = text(&source, &diagnostic, Look { width: 60, ..Look::default() });
    insta::assert_snapshot!(shown, @r"
    evil\n.yaml:1:501: error[control-character]: a \x1b is here
       ╭────
     1 │ …ññññññññññññññññ\x1b[2J\u{202e}key: |
       ·                  ───────────────
       ╰────
      more: wf explain control-character
    ");
}

#[test]
fn any_place_in_any_text_can_be_shown() {
    use proptest::prelude::{any, prop_assert, proptest};
    proptest!(|(text_ in any::<String>(), a in 0_usize..64, b in 0_usize..64, c in 0_usize..64, width in 1_usize..90)| {
        let source = Source::new("any", text_.as_str());
        let diagnostic = Diagnostic::new(Code::YamlSyntax, Span::new(a.min(b), a.max(b)), "m")
            .related(Span::new(c, c + 1), "r");
        for unicode in [true, false] {
            let shown = text(&source, &diagnostic, Look { unicode, width, ..Look::default() });
            prop_assert!(shown.ends_with("  more: wf explain yaml-syntax\n"));
            prop_assert!(!shown.contains("Failed to read"), "{}", shown);
            prop_assert!(!shown.chars().any(|it| it.is_control() && it != '\n'));
        }
    });
}

#[test]
fn the_last_of_a_hundred_thousand_lines_is_shown_with_its_number() {
    let text_ = "- x\n".repeat(100_000);
    let source = Source::new("big.yaml", text_.as_str());
    let diagnostic = Diagnostic::new(Code::WrongType, Span::new(text_.len() - 2, text_.len() - 1), "m")
        .related(Span::new(2, 3), "first");
    let shown = text(&source, &diagnostic, wide());
    assert!(shown.contains("100000 │ - x") && shown.contains(" 1 │ - x"), "{shown}");
}
