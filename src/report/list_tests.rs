//! The list as it is drawn, at several widths, heights and looks.
//!
//! Every line is written out; a run is told event by event.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::event::{CancelReason, Failure, FailureKind, Outcome, Place, Started, Usage};
use crate::id::{ModelName, RunId, StepId};

/// A run that is told event by event, 100 ms apart.
pub(in crate::report) struct Tale {
    pub state: RunState,
    pub list: StepList,
    pub events: Vec<Event>,
}

impl Tale {
    pub fn begin(steps: Value) -> Self {
        let mut tale = Self { state: RunState::default(), list: StepList::default(), events: Vec::new() };
        tale.then(Fact::RunStarted(Box::new(Started {
            format: 1,
            run: RunId::generate(),
            workflow: "tale".to_owned(),
            text: String::new(),
            place: Place::default(),
            tools: Value::Null,
            inputs: serde_json::Map::new(),
            task: None,
            model: ModelName::new("offline"),
        })));
        tale.then(Fact::PlanReady { plan: json!({"steps": steps}), repairs: Vec::new() });
        tale
    }

    pub fn then(&mut self, fact: Fact) -> &mut Self {
        let seq = self.state.last_seq + 1;
        let event = Event { seq, at: 1_000_000 + 100 * seq, fact };
        self.state.apply(&event).unwrap();
        self.list.event(&event, &self.state);
        self.events.push(event);
        self
    }

    pub fn start(&mut self, id: i64) -> &mut Self {
        self.then(Fact::StepStarted { step: id.into(), attempt: 1 })
    }

    pub fn done(&mut self, id: i64, result: Value) -> &mut Self {
        self.start(id).then(Fact::StepSucceeded { step: id.into(), result: Some(result) })
    }

    pub fn fail(&mut self, id: i64, message: &str) -> &mut Self {
        let failure = Failure::new(FailureKind::Tool, message);
        self.start(id).then(Fact::StepFailed { step: id.into(), failure })
    }
}

fn look(width: usize, height: usize) -> Look {
    Look { unicode: true, colour: false, width, height }
}

fn says(tale: &mut Tale, step: Option<i64>, text: &str) {
    let state = &tale.state;
    let progress = Progress::ModelText { step: step.map(Into::into), text: text.to_owned() };
    tale.list.progress(&progress, |step| state.position(step));
}

fn asks(tale: &mut Tale, id: i64) {
    tale.then(Fact::ModelAsked {
        step: Some(id.into()),
        model: ModelName::new("m"),
        request: String::new(),
        new: Vec::new(),
    });
}

#[test]
fn a_text_that_comes_alone_is_read_below_the_list() {
    let mut tale = Tale::begin(json!([
        {"id": 1, "type": "reasoning", "description": "Think"},
        {"id": 2, "type": "reasoning", "description": "Write", "depends_on": []},
    ]));
    tale.start(1);
    asks(&mut tale, 1);
    says(&mut tale, Some(1), "# Report\n\nApparel is we");
    says(&mut tale, Some(1), "ak in sales and in returns.");
    let screen = tale.list.screen(1_000_400, look(40, 12));
    let expected = [
        "⏳ Step 1: Think",
        "⬜ Step 2: Write",
        "   │ # Report",
        "   │ ",
        "   │ Apparel is weak in sales and in",
        "   │ returns.",
        "0 of 2 steps done, 0.3 s, 1 model call",
    ];
    assert_eq!(screen, expected);
    // Of a low screen the list keeps most.
    assert_eq!(tale.list.screen(1_000_400, look(40, 6)).len(), 5);

    // Two at once have a line each, beside their steps.
    tale.start(2);
    asks(&mut tale, 2);
    says(&mut tale, Some(2), "One.\nTwo.");
    says(&mut tale, Some(1), "\nMore.");
    let screen = tale.list.screen(1_000_600, look(40, 12));
    assert_eq!(screen[..2], ["⏳ Step 1: Think  More.", "⏳ Step 2: Write  Two."]);
    assert_eq!(screen.len(), 3);

    // Asked anew, what was heard before is gone; a step that is done has its result alone.
    asks(&mut tale, 1);
    tale.then(Fact::StepSucceeded { step: 2.into(), result: Some(json!("One.")) });
    says(&mut tale, Some(2), "late");
    let screen = tale.list.screen(1_000_800, look(40, 12));
    assert_eq!(screen[..2], ["⏳ Step 1: Think", "✅ Step 2: Write  → \"One.\""]);
    assert_eq!(screen.len(), 3);
}

#[test]
fn a_plan_is_seen_coming() {
    let mut list = StepList::default();
    let mut state = RunState::default();
    for (seq, fact) in [
        Fact::RunStarted(Box::new(Started {
            format: 1,
            run: RunId::generate(),
            workflow: "tale".to_owned(),
            text: String::new(),
            place: Place::default(),
            tools: Value::Null,
            inputs: serde_json::Map::new(),
            task: None,
            model: ModelName::new("m"),
        })),
        Fact::ModelAsked { step: None, model: ModelName::new("m"), request: String::new(), new: Vec::new() },
    ]
    .into_iter()
    .enumerate()
    {
        let event = Event { seq: seq as u64 + 1, at: 1_000_000, fact };
        state.apply(&event).unwrap();
        list.event(&event, &state);
    }
    list.progress(&Progress::ModelText { step: None, text: "{\"steps\": [".to_owned() }, |_| None);
    let screen = list.screen(1_000_000, look(40, 12));
    assert_eq!(screen[..2], ["⏳ planning", "   │ {\"steps\": ["]);
}

fn report() -> Tale {
    let mut tale = Tale::begin(json!([
        {"id": 1, "type": "tool_call", "tool": "sales", "description": "Fetch the week's sales of all categories"},
        {"id": 2, "type": "tool_call", "tool": "returns", "description": "Fetch 返品率 of the same week"},
        {"id": 3, "type": "reasoning", "description": "Say which categories do badly,\nand why"},
        {"id": 4, "type": "tool_call", "tool": "stock"},
        {"id": 5, "type": "aggregate", "inputs": [1, 4], "description": "Summary"},
    ]));
    tale.done(
        1,
        json!([{"category": "Electronics", "sales": 142_000}, {"category": "Apparel", "sales": 38_000}]),
    );
    tale.fail(2, "the shop \u{1b}[31mis closed");
    tale.then(Fact::StepCancelled { step: 4.into(), reason: CancelReason::DependencyFailed(2.into()) });
    tale.start(3);
    tale.then(Fact::ModelAsked {
        step: Some(3.into()),
        model: ModelName::new("offline"),
        request: String::new(),
        new: Vec::new(),
    });
    let usage = Usage { input: 1200, output: 34, cached: 0 };
    tale.then(Fact::ModelAnswered { step: Some(3.into()), answer: Value::Null, usage });
    tale
}

#[test]
fn the_list_fits_every_width() {
    let tale = report();
    let now = tale.events[0].at + 4_250;
    let draw = |look: Look| {
        let lines = tale.list.screen(now, look);
        for line in &lines {
            assert!(console::measure_text_width(line) <= look.width, "{line}");
        }
        lines.join("\n")
    };
    assert_eq!(
        draw(look(80, 24)),
        "✅ Step 1: Fetch the week's sales of all…  → [{\"category\": \"Electronics\", \"sale…\n\
         ❌ Step 2: Fetch 返品率 of the same week  → the shop \\x1b[31mis closed\n\
         ⏳ Step 3: Say which categories do badly,  (3 s)\n\
         🚫 Step 4: Call stock  → step 2 failed\n\
         ⬜ Step 5: Summary\n\
         1 of 5 steps done, 1 failed, 1 cancelled, 4.2 s, 1 model call,\n\
         1234 tokens (1200 in, 34 out)"
    );
    assert_eq!(
        draw(look(40, 24)),
        "✅ Step 1: Fetch the…  → [{\"category\": …\n\
         ❌ Step 2: Fetch 返…  → the shop \\x1b[3…\n\
         ⏳ Step 3: Say which categories …  (3 s)\n\
         🚫 Step 4: Call stock  → step 2 failed\n\
         ⬜ Step 5: Summary\n\
         1 of 5 steps done, 1 failed,\n\
         1 cancelled, 4.2 s, 1 model call,\n\
         1234 tokens (1200 in, 34 out)"
    );
    assert_eq!(
        draw(look(200, 24)).lines().next().unwrap(),
        "✅ Step 1: Fetch the week's sales of all categories  → [{\"category\": \"Electronics\", \
         \"sales\": 142000}, {\"category\": \"Apparel\", \"sales\": 38000}]"
    );
    assert_eq!(
        draw(Look { unicode: false, ..look(60, 24) }),
        "[x] Step 1: Fetch the week's ...  -> [{\"category\": \"Elect...\n\
         [!] Step 2: Fetch ??? of the ...  -> the shop \\x1b[31mis ...\n\
         [>] Step 3: Say which categories do badly,  (3 s)\n\
         [-] Step 4: Call stock  -> step 2 failed\n\
         [ ] Step 5: Summary\n\
         1 of 5 steps done, 1 failed, 1 cancelled, 4.2 s,\n\
         1 model call, 1234 tokens (1200 in, 34 out)"
    );
}

#[test]
fn colours_add_no_width() {
    let tale = report();
    let now = tale.events[0].at + 4_250;
    let plain = tale.list.screen(now, look(80, 24));
    let painted = tale.list.screen(now, Look { colour: true, ..look(80, 24) });
    assert!(painted[1].contains("\x1b[1;31m"));
    for (plain, painted) in plain.iter().zip(&painted) {
        assert_eq!(plain, &console::strip_ansi_codes(painted));
    }
}

#[test]
fn a_plan_longer_than_the_screen_is_seen_where_it_runs() {
    let steps = (1..=100).map(|id| json!({"id": id, "description": format!("number {id}")}));
    let mut tale = Tale::begin(steps.collect());
    for id in 1..=39 {
        tale.done(id, json!(id));
    }
    tale.fail(40, "no");
    tale.start(41);
    let lines = tale.list.screen(tale.state.last_at, look(60, 10));
    assert_eq!(
        lines.join("\n"),
        "… 38 steps done\n\
         ✅ Step 39: number 39  → 39\n\
         ❌ Step 40: number 40  → no\n\
         ⏳ Step 41: number 41\n\
         ⬜ Step 42: number 42\n\
         ⬜ Step 43: number 43\n\
         ⬜ Step 44: number 44\n\
         … 56 steps pending\n\
         39 of 100 steps done, 1 failed, 8.2 s, 0 model calls"
    );
    for height in 4..40 {
        assert!(tale.list.screen(0, look(60, height)).len() < height.max(5), "{height}");
    }
}

#[test]
fn what_a_tool_prints_is_shown_while_it_runs_and_retries_are_told() {
    let mut tale = Tale::begin(json!([{"id": 1, "tool": "nap", "description": "Sleep"}]));
    tale.start(1);
    let step = StepId::integer(1);
    let text = "one\ntwo\u{7}\n\n".to_owned();
    tale.list.progress(&Progress::ToolOutput { step: step.clone(), text }, |_| Some(0));
    let line = |tale: &Tale, later: Duration| {
        let now = tale.state.last_at + u64::try_from(later.as_millis()).unwrap();
        tale.list.line(0, now, look(80, 24)).unwrap()
    };
    assert_eq!(line(&tale, Duration::from_millis(999)), "⏳ Step 1: Sleep  two\\x07");
    assert_eq!(line(&tale, Duration::from_secs(61)), "⏳ Step 1: Sleep  (1 min 01 s) two\\x07");
    let failure = Failure::transient(FailureKind::Tool, "busy", None);
    tale.then(Fact::StepFailed { step: step.clone(), failure });
    tale.then(Fact::RetryScheduled { step: step.clone(), attempt: 2, delay_ms: 1500 });
    assert_eq!(line(&tale, Duration::ZERO), "❌ Step 1: Sleep  → busy; attempt 2 in 1.5 s");
    tale.then(Fact::StepStarted { step, attempt: 2 });
    assert_eq!(line(&tale, Duration::from_secs(2)), "⏳ Step 1: Sleep  (attempt 2, 2 s)");
}

#[test]
fn events_that_are_stored_together_are_told_one_by_one() {
    // The state is that after the last of them.
    let mut tale = Tale::begin(json!([{"id": 1, "tool": "add", "description": "Add"}]));
    tale.done(1, json!(3.0));
    let mut list = StepList::default();
    let mut seen = Vec::new();
    for event in &tale.events {
        list.event(event, &tale.state);
        seen.extend(list.line(0, event.at, look(80, 24)));
    }
    assert_eq!(seen, ["⬜ Step 1: Add", "⏳ Step 1: Add", "✅ Step 1: Add  → 3.0"]);
}

#[test]
fn the_time_stands_still_when_the_run_has_ended() {
    let mut tale = Tale::begin(json!([{"id": 1, "tool": "add"}]));
    tale.done(1, json!(1)).then(Fact::RunFinished { outcome: Outcome::Succeeded { result: json!(1) } });
    assert_eq!(
        tale.list.totals(u64::MAX).line(None, look(80, 24)),
        "1 of 1 steps done, 0.4 s, 0 model calls"
    );
}

#[test]
fn durations_are_for_people() {
    let table = [
        (0, "0 ms"),
        (99, "99 ms"),
        (340, "0.3 s"),
        (3000, "3 s"),
        (9990, "9.9 s"),
        (59_999, "59 s"),
        (185_000, "3 min 05 s"),
        (7_500_000, "2 h 05 min"),
    ];
    for (milliseconds, text) in table {
        assert_eq!(duration(milliseconds), text);
    }
}
