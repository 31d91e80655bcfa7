//! What reading and checking a file costs, by its number of steps.

use divan::Bencher;
use wf::load::{Scope, load};
use wf::source::Source;
use wf::tool::math_specs;
use wf::workflow::Origin;

// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// A file in which every step has something to check: a tool, arguments, a reference, a template.
fn file(steps: usize) -> Source {
    let mut text =
        String::from("name: bench\ninputs:\n  n: {type: number, default: 1}\nworkflow_sequence:\n");
    text.push_str("  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 2}}\n");
    for id in 2..=steps {
        let before = id - 1;
        text.push_str(&format!(
            "  - id: {id}\n    type: tool_call\n    tool: add\n    description: \"Add {{{{ inputs.n }}}}\"\n    args: {{a: {{step_result: {before}}}, b: \"{{{{ inputs.n }}}}\"}}\n"
        ));
    }
    Source::new("bench.yaml", text)
}

#[divan::bench(args = [10, 1_000, 10_000, 100_000], sample_count = 10)]
fn load_and_check(bencher: Bencher, steps: usize) {
    let scope = Scope { tools: math_specs(), ..Scope::default() };
    let source = file(steps);
    bencher.bench_local(|| {
        let loaded = load(&source, &scope, Origin::Person);
        assert!(loaded.workflow.is_some(), "{:?}", loaded.diagnostics.first());
        loaded
    });
}
