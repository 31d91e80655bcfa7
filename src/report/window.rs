//! Which steps of a plan that is longer than the screen are shown.
//!
//! Main function: [`window`]. Steps that run come first, then what is near them; each stretch that is left
//! out costs one line. Knows statuses and a number of lines, nothing else.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::run::Status;

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The step at a position.
    Step(usize),
    /// Steps that are left out, in one line.
    Gap(Range<usize>),
}

/// The lines that are shown of `count` steps: at most `room`, and at least one.
pub(super) fn window(count: usize, status: impl Fn(usize) -> Status, room: usize) -> Vec<Line> {
    if count <= room {
        return (0..count).map(Line::Step).collect();
    }
    let status = &status;
    let stands = |wanted: Status| (0..count).filter(move |at| status(*at) == wanted);
    let running = stands(Status::InProgress).take(room).collect::<Vec<_>>();
    let focus = running.first().copied();
    let focus = focus.or_else(|| stands(Status::Pending).next()).unwrap_or(count - 1);
    let mut shown = Shown { count, room, steps: BTreeSet::from([focus]) };
    for at in running {
        shown.try_add(at);
    }
    // Then twice as much of what comes as of what was, away from the first step that runs.
    let (mut before, mut after) = (focus, focus + 1);
    loop {
        let mut grown = false;
        for forwards in [true, false, true] {
            if forwards && after < count && shown.try_add(after) {
                (after, grown) = (after + 1, true);
            } else if !forwards && before > 0 && shown.try_add(before - 1) {
                (before, grown) = (before - 1, true);
            }
        }
        if !grown {
            return shown.into_lines();
        }
    }
}

struct Shown {
    count: usize,
    room: usize,
    steps: BTreeSet<usize>,
}

impl Shown {
    /// Shows one more step, if there is room for it and the gaps around it; one that is shown stays.
    fn try_add(&mut self, at: usize) -> bool {
        if !self.steps.insert(at) {
            return true;
        }
        let fits = self.lines() <= self.room;
        if !fits {
            self.steps.remove(&at);
        }
        fits
    }

    fn lines(&self) -> usize {
        self.steps.len() + self.gaps().len()
    }

    fn gaps(&self) -> Vec<Range<usize>> {
        let ends = self.steps.iter().copied().chain([self.count]);
        let starts = [0].into_iter().chain(self.steps.iter().map(|at| at + 1));
        starts.zip(ends).map(|(from, to)| from..to).filter(|gap| !gap.is_empty()).collect()
    }

    fn into_lines(self) -> Vec<Line> {
        let mut gaps = self.gaps();
        // On a screen of one or two lines the steps that run say more than how many others there are.
        gaps.truncate(self.room.saturating_sub(self.steps.len()));
        let mut lines = gaps.into_iter().map(Line::Gap).collect::<Vec<_>>();
        lines.extend(self.steps.into_iter().map(Line::Step));
        lines.sort_by_key(|line| match line {
            Line::Step(at) => *at,
            Line::Gap(gap) => gap.start,
        });
        lines
    }
}
