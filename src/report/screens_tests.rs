//! Whole screens, kept as text in `tests/data/screens`: long plans and many steps at once, at three widths.
//!
//! `WF_UPDATE=1` writes them; read what changed before you commit it.

use std::path::Path;

use serde_json::{Value, json};

use super::tests::Tale;
use super::{Look, Progress, StepList};
use crate::event::{CancelReason, Fact, Failure, FailureKind, Outcome, Usage};
use crate::id::ModelName;

/// Columns and lines.
const SIZES: [(usize, usize); 3] = [(40, 24), (80, 24), (200, 50)];

/// A moment of a tale, to be drawn.
struct Moment {
    title: &'static str,
    list: StepList,
    now: u64,
}

impl Moment {
    fn of(title: &'static str, tale: &Tale, later: u64) -> Self {
        Self { title, list: tale.list.clone(), now: tale.state.last_at + later }
    }
}

fn compare(name: &str, moments: &[Moment]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/screens");
    for (width, height) in SIZES {
        // Nothing of a line stays free on a terminal, but for its last column.
        let look = Look { unicode: true, colour: false, width: width - 1, height };
        let mut text = String::new();
        for moment in moments {
            let lines = moment.list.screen(moment.now, look);
            assert!(lines.len() < height, "{name} {width}: {} lines", lines.len());
            for line in &lines {
                assert!(console::measure_text_width(line) < width, "{name} {width}: {line}");
            }
            text.push_str(&format!("== {}\n{}\n", moment.title, lines.join("\n")));
        }
        let path = folder.join(format!("{name}-{width}.txt"));
        if std::env::var_os("WF_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{}", path.display());
    }
}

/// Names that are hard to measure among ordinary ones.
fn title(id: i64) -> String {
    match id % 10 {
        3 => format!("Fetch 返品率 of region {id} (第{id}週)"),
        5 => format!("Cafe\u{301} re\u{301}sume\u{301} number {id}, de\u{301}compose\u{301}"),
        7 => format!("Ask the family 👩\u{200d}👧 about order {id} 🇩🇪"),
        8 => format!(
            "Compare the figures of region {id} with those of the same week of the year before, and say what differs"
        ),
        _ => format!("Fetch the figures of region {id}"),
    }
}

fn answered(tale: &mut Tale, id: i64, input: u64, output: u64) {
    let model = ModelName::new("openai/gpt-5-mini");
    tale.then(Fact::ModelAsked { step: Some(id.into()), model, request: String::new(), new: Vec::new() });
    let usage = Usage { input, output, cached: 0 };
    tale.then(Fact::ModelAnswered { step: Some(id.into()), answer: Value::Null, usage });
}

#[test]
fn sixty_steps() {
    let steps = (1..=60).map(|id| json!({"id": id, "tool": "fetch", "description": title(id)}));
    let mut tale = Tale::begin(steps.collect());
    let mut moments = vec![Moment::of("nothing has started", &tale, 0)];
    for id in 1..=30 {
        match id {
            12 => {
                tale.fail(12, "the server of region 12 says: 503 Service Unavailable");
            }
            _ => {
                tale.start(id);
                answered(&mut tale, id, 800, 40);
                let result = json!([{"region": id, "sales": 1000 * id, "name": "東京"}]);
                tale.then(Fact::StepSucceeded { step: id.into(), result: Some(result) });
            }
        }
    }
    for id in [13, 14] {
        let reason = CancelReason::DependencyFailed(12.into());
        // They would have waited; here they ended before, so others are cancelled in their place.
        tale.then(Fact::StepCancelled { step: (id + 40).into(), reason });
    }
    tale.start(31).start(33);
    let text = "reading page 4 of 17\n".to_owned();
    tale.list.progress(&Progress::ToolOutput { step: 33.into(), text }, |_| Some(32));
    moments.push(Moment::of("in the middle", &tale, 65_000));
    // One far below runs too.
    tale.start(58);
    moments.push(Moment::of("far apart", &tale, 3_700_000));
    for id in (31..=60).filter(|id| ![53, 54].contains(id)) {
        if ![31, 33, 58].contains(&id) {
            tale.start(id);
        }
        tale.then(Fact::StepSucceeded { step: id.into(), result: Some(json!(id)) });
    }
    let failure = Failure::new(FailureKind::Tool, "503");
    tale.then(Fact::RunFinished { outcome: Outcome::Failed { step: Some(12.into()), failure } });
    moments.push(Moment::of("at the end", &tale, 99_000_000));
    compare("sixty", &moments);
}

#[test]
fn ten_at_once() {
    let steps = (1..=12).map(|id| json!({"id": id, "tool": "fetch", "description": title(id)}));
    let mut tale = Tale::begin(steps.collect());
    tale.done(1, json!({"regions": 10}));
    for id in 2..=11 {
        tale.start(id);
    }
    for (id, text) in [(4, "42 %\r"), (7, "\u{1b}[31mwarning\u{1b}[0m: slow\n"), (8, "進捗 三割\n")] {
        let text = text.to_owned();
        tale.list.progress(&Progress::ToolOutput { step: id.into(), text }, |_| usize::try_from(id - 1).ok());
    }
    let mut moments = vec![Moment::of("all ten run", &tale, 12_000)];
    for id in [3, 9, 10] {
        tale.then(Fact::StepSucceeded { step: id.into(), result: Some(json!(format!("region {id}\nfine"))) });
    }
    let failure = Failure::transient(FailureKind::Tool, "connection reset", None);
    tale.then(Fact::StepFailed { step: 5.into(), failure });
    tale.then(Fact::RetryScheduled { step: 5.into(), attempt: 2, delay_ms: 4000 });
    answered(&mut tale, 6, 123_456, 789);
    moments.push(Moment::of("three are done, one is tried again", &tale, 500));
    compare("parallel", &moments);
}
