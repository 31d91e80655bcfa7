//! The list of steps redrawn in place on a terminal.
//!
//! Main type: [`Live`]: a thin shell around [`StepList`], which says what is drawn, and a clock that
//! draws again while something runs. Knows how to move a cursor; decides nothing about a run.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::list::StepList;
use super::look::{Look, Paint};
use super::plain::{ending, passing};
use crate::event::{Event, Fact, Progress, now};
use crate::id::StepId;
use crate::run::{Observer, RunState};

/// How often the list may be drawn: more often nobody sees.
const FRAME: Duration = Duration::from_millis(100);

/// Plans longer than this are not printed whole at the end.
const LONGEST_LISTING: usize = 500;

/// Draws a run in place.
pub struct Live {
    screen: Arc<Mutex<Screen>>,
    stop: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

/// What is on the terminal.
struct Screen {
    out: Box<dyn Write + Send>,
    look: Look,
    size: Box<dyn Fn() -> Option<(u16, u16)> + Send>,
    list: StepList,
    positions: std::collections::HashMap<StepId, usize>,
    /// The columns of each line drawn last.
    drawn: Vec<usize>,
    /// How many columns the terminal really has.
    columns: usize,
    active: bool,
    paused: bool,
    dirty: bool,
    drawn_at: u64,
}

impl Live {
    /// Draws on `out`, a terminal, whose rows and columns `size` tells.
    pub fn new(
        out: Box<dyn Write + Send>,
        look: Look,
        size: impl Fn() -> Option<(u16, u16)> + Send + 'static,
    ) -> Self {
        let screen = Arc::new(Mutex::new(Screen {
            out,
            look,
            size: Box::new(size),
            list: StepList::default(),
            positions: std::collections::HashMap::new(),
            drawn: Vec::new(),
            columns: look.width,
            active: false,
            paused: false,
            dirty: false,
            drawn_at: 0,
        }));
        let (stop, stopped) = channel();
        let shared = Arc::clone(&screen);
        let tick = move || {
            while stopped.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                lock(&shared).tick(now());
            }
        };
        // Without a clock the list is still drawn at each event.
        let clock = std::thread::Builder::new().name("wf-clock".to_owned()).spawn(tick).ok();
        Self { screen, stop: Some(stop), clock }
    }

    /// A handle to take the list off the screen while something else is written.
    pub fn pause(&self) -> Pause {
        Pause { screen: Arc::clone(&self.screen) }
    }
}

impl Observer for Live {
    fn event(&mut self, event: &Event, state: &RunState) {
        lock(&self.screen).event(event, state);
    }

    fn progress(&mut self, progress: &Progress) {
        lock(&self.screen).progress(progress);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(clock) = self.clock.take() {
            // It has nothing left to say; a panic in it was printed.
            let _ = clock.join();
        }
        lock(&self.screen).leave();
    }
}

/// Takes the list off the screen, and puts it back.
#[derive(Clone)]
pub struct Pause {
    screen: Arc<Mutex<Screen>>,
}

impl Pause {
    /// Clears the list; nothing is drawn until [`Pause::resume`].
    pub fn pause(&self) {
        let mut screen = lock(&self.screen);
        screen.paused = true;
        screen.clear();
    }

    /// Draws again.
    pub fn resume(&self) {
        let mut screen = lock(&self.screen);
        screen.paused = false;
        screen.draw(now());
    }
}

impl Screen {
    fn event(&mut self, event: &Event, state: &RunState) {
        self.list.event(event, state);
        match &event.fact {
            Fact::RunStarted { .. } => self.active = true,
            Fact::PlanReady { repairs, .. } => {
                self.positions =
                    state.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
                let look = self.look;
                let repairs = repairs.iter().map(|it| format!("repaired the reply: {}", look.shown(it)));
                self.above(&repairs.collect::<Vec<_>>());
            }
            Fact::RunFinished { outcome } => {
                self.finish(event.at, &ending(outcome, state, self.look));
                return;
            }
            _ => {}
        }
        self.dirty = true;
        if now().saturating_sub(self.drawn_at) >= FRAME.as_millis() as u64 {
            self.draw(now());
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let positions = &self.positions;
        self.list.progress(progress, |step| positions.get(step).copied());
        self.dirty = true;
        let lines = passing(progress).into_iter().collect::<Vec<_>>();
        if !lines.is_empty() {
            self.above(&lines);
            self.draw(now());
        }
    }

    fn tick(&mut self, now: u64) {
        // The time shown changes by tenths of a second in the first ten only.
        if self.dirty || now.saturating_sub(self.drawn_at) >= 500 {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: u64) {
        if !self.active || self.paused {
            return;
        }
        self.measure();
        let lines = self.list.screen(now, self.look);
        let frame = self.frame(&lines);
        self.drawn = lines.iter().map(|line| console::measure_text_width(line)).collect();
        self.dirty = false;
        self.drawn_at = now;
        self.write(&frame);
    }

    /// The whole list once more, to stay: as far as a person would scroll.
    fn finish(&mut self, now: u64, more: &[String]) {
        self.measure();
        let lines = match self.list.len() <= LONGEST_LISTING {
            true => self.list.steps(now, self.look),
            false => self.list.window(now, self.look, self.look.height.saturating_sub(2)),
        };
        // What went wrong is written as it is, on as many lines as the terminal makes of it.
        let frame = self.frame(&lines) + &more.iter().map(|line| format!("{line}\n")).collect::<String>();
        self.drawn.clear();
        self.active = false;
        self.write(&frame);
    }

    /// Lines that stay, above the list.
    fn above(&mut self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        // The rest is cleared at the end: some terminals keep in their history what is cleared from the top.
        let lines = lines.iter().map(|line| self.look.paint(Paint::Warning, line) + "\x1b[K\n");
        let frame = self.back() + &lines.collect::<String>() + "\x1b[J";
        self.drawn.clear();
        self.write(&frame);
    }

    /// The lines in place of those drawn last. A terminal that shows a character wider than it is thought
    /// to be must not begin a new line of its own, or the way back would be wrong.
    fn frame(&self, lines: &[String]) -> String {
        let mut frame = self.back() + "\x1b[?7l";
        for line in lines {
            frame.push_str(line);
            frame.push_str("\x1b[K\n");
        }
        frame + "\x1b[J\x1b[?7h"
    }

    fn clear(&mut self) {
        let frame = self.back() + "\x1b[J";
        self.drawn.clear();
        self.write(&frame);
    }

    /// The run did not end by an event: what is drawn last stays.
    fn leave(&mut self) {
        if self.active && self.dirty {
            self.draw(now());
        }
        self.active = false;
    }

    /// The way back to the first line drawn, on a terminal that may have become narrower since.
    fn back(&self) -> String {
        let rows: usize = self.drawn.iter().map(|columns| columns.div_ceil(self.columns).max(1)).sum();
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }

    fn measure(&mut self) {
        if let Some((rows, columns)) = (self.size)() {
            self.columns = usize::from(columns).max(1);
            // Clearing the rest of a line that is full would clear its last character.
            self.look.width = self.columns.saturating_sub(1).max(10);
            self.look.height = usize::from(rows).max(4);
        }
    }

    fn write(&mut self, frame: &str) {
        // A terminal that went away ends nothing: the run's record is elsewhere.
        let _ = self.out.write_all(frame.as_bytes()).and_then(|()| self.out.flush());
    }
}

fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    // A panic while drawing leaves at worst a crooked picture.
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}
