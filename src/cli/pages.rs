//! The page of each code, as `wf explain CODE` prints it.
//!
//! The pages are the files of docs/errors, put into the program when it is built, so that they are
//! there without a network and always fit this version. Main functions: [`page`], and [`book`] for all. Knows no way to print
//! them; what a page must hold is kept by the test below.

use std::fmt::Write as _;

use crate::diagnostic::Code;

/// What stands before the pages where all are printed.
const INTRODUCTION: &str = include_str!("../../docs/errors/README.md");

/// The families of codes, each with its first one, in the order of the codes.
const FAMILIES: [(&str, Code); 11] = [
    ("The file", Code::UnreadableFile),
    ("The shape of the file", Code::NotAMapping),
    ("Names", Code::DuplicateId),
    ("The order of steps", Code::UnknownStep),
    ("Tools and arguments", Code::UnknownTool),
    ("Templates", Code::TemplateSyntax),
    ("Inputs", Code::MissingInput),
    ("Models", Code::UnknownProvider),
    ("Security", Code::SecretInFile),
    ("Plans of models", Code::NoPlan),
    ("Comments", Code::UnusedIgnore),
];

/// All pages as one document in Markdown, family by family.
pub fn book() -> String {
    let mut out = INTRODUCTION.trim_end().to_owned() + "\n";
    out.push_str("\n## All codes\n\n| code | severity | |\n|---|---|---|\n");
    for code in Code::ALL {
        let _ = writeln!(out, "| [{code}](#{code}) | {} | {} |", code.severity(), summary(*code));
    }
    for code in Code::ALL {
        if let Some((family, _)) = FAMILIES.iter().find(|(_, first)| first == code) {
            let _ = writeln!(out, "\n## {family}");
        }
        out.push('\n');
        chapter(page(*code), &mut out);
    }
    out
}

/// A page as a part of a larger document: its headings two levels further down, and what is wrong marked
/// as such, so that nobody takes it for an example to follow.
fn chapter(page: &str, out: &mut String) {
    let (mut fenced, mut wrong) = (false, false);
    for line in page.lines() {
        let fence = line.starts_with("```");
        match line {
            _ if fence && !fenced && wrong => out.push_str(&format!("{line} wrong")),
            _ if !fenced && line.starts_with('#') => {
                wrong = line == "## Wrong";
                out.push_str("##");
                out.push_str(line);
            }
            _ => out.push_str(line),
        }
        out.push('\n');
        fenced ^= fence;
    }
}

/// The first sentence of a page: what the code means.
pub fn summary(code: Code) -> String {
    let paragraph = page(code).lines().skip(1).skip_while(|line| line.trim().is_empty());
    let text = paragraph.take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
    text.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned()
}

/// The page of a code, in Markdown: what it means, why it is a mistake, a wrong and a right example.
pub fn page(code: Code) -> &'static str {
    match code {
        Code::UnreadableFile => include_str!("../../docs/errors/unreadable-file.md"),
        Code::InvalidUtf8 => include_str!("../../docs/errors/invalid-utf8.md"),
        Code::EmptyFile => include_str!("../../docs/errors/empty-file.md"),
        Code::FileTooLarge => include_str!("../../docs/errors/file-too-large.md"),
        Code::TooDeep => include_str!("../../docs/errors/too-deep.md"),
        Code::AliasLimit => include_str!("../../docs/errors/alias-limit.md"),
        Code::YamlSyntax => include_str!("../../docs/errors/yaml-syntax.md"),
        Code::TabIndent => include_str!("../../docs/errors/tab-indent.md"),
        Code::MultipleDocuments => include_str!("../../docs/errors/multiple-documents.md"),
        Code::DuplicateKey => include_str!("../../docs/errors/duplicate-key.md"),
        Code::CustomTag => include_str!("../../docs/errors/custom-tag.md"),
        Code::NonStringKey => include_str!("../../docs/errors/non-string-key.md"),
        Code::ControlCharacter => include_str!("../../docs/errors/control-character.md"),
        Code::NotAMapping => include_str!("../../docs/errors/not-a-mapping.md"),
        Code::UnknownKey => include_str!("../../docs/errors/unknown-key.md"),
        Code::MissingKey => include_str!("../../docs/errors/missing-key.md"),
        Code::WrongType => include_str!("../../docs/errors/wrong-type.md"),
        Code::InvalidValue => include_str!("../../docs/errors/invalid-value.md"),
        Code::KeyNotForType => include_str!("../../docs/errors/key-not-for-type.md"),
        Code::ConflictingKeys => include_str!("../../docs/errors/conflicting-keys.md"),
        Code::EmptySequence => include_str!("../../docs/errors/empty-sequence.md"),
        Code::InvalidDuration => include_str!("../../docs/errors/invalid-duration.md"),
        Code::InvalidSchema => include_str!("../../docs/errors/invalid-schema.md"),
        Code::AmbiguousScalar => include_str!("../../docs/errors/ambiguous-scalar.md"),
        Code::DuplicateId => include_str!("../../docs/errors/duplicate-id.md"),
        Code::InvalidId => include_str!("../../docs/errors/invalid-id.md"),
        Code::DuplicateTool => include_str!("../../docs/errors/duplicate-tool.md"),
        Code::UnknownStep => include_str!("../../docs/errors/unknown-step.md"),
        Code::SelfReference => include_str!("../../docs/errors/self-reference.md"),
        Code::LaterStep => include_str!("../../docs/errors/later-step.md"),
        Code::DependencyCycle => include_str!("../../docs/errors/dependency-cycle.md"),
        Code::MayBeCancelled => include_str!("../../docs/errors/may-be-cancelled.md"),
        Code::UnreadResult => include_str!("../../docs/errors/unread-result.md"),
        Code::UnknownTool => include_str!("../../docs/errors/unknown-tool.md"),
        Code::MissingArgument => include_str!("../../docs/errors/missing-argument.md"),
        Code::UnknownArgument => include_str!("../../docs/errors/unknown-argument.md"),
        Code::ArgumentType => include_str!("../../docs/errors/argument-type.md"),
        Code::InvalidPointer => include_str!("../../docs/errors/invalid-pointer.md"),
        Code::UnusedTool => include_str!("../../docs/errors/unused-tool.md"),
        Code::TemplateSyntax => include_str!("../../docs/errors/template-syntax.md"),
        Code::TemplateNotAllowed => include_str!("../../docs/errors/template-not-allowed.md"),
        Code::UnknownVariable => include_str!("../../docs/errors/unknown-variable.md"),
        Code::UnusedInput => include_str!("../../docs/errors/unused-input.md"),
        Code::MissingInput => include_str!("../../docs/errors/missing-input.md"),
        Code::UnknownInput => include_str!("../../docs/errors/unknown-input.md"),
        Code::InputType => include_str!("../../docs/errors/input-type.md"),
        Code::UnknownProvider => include_str!("../../docs/errors/unknown-provider.md"),
        Code::MissingCredential => include_str!("../../docs/errors/missing-credential.md"),
        Code::SecretInFile => include_str!("../../docs/errors/secret-in-file.md"),
        Code::UndeclaredEnv => include_str!("../../docs/errors/undeclared-env.md"),
        Code::PathOutsideWorkspace => include_str!("../../docs/errors/path-outside-workspace.md"),
        Code::NoPlan => include_str!("../../docs/errors/no-plan.md"),
        Code::AmbiguousPlan => include_str!("../../docs/errors/ambiguous-plan.md"),
        Code::TruncatedReply => include_str!("../../docs/errors/truncated-reply.md"),
        Code::ProseReference => include_str!("../../docs/errors/prose-reference.md"),
        Code::HardcodedValue => include_str!("../../docs/errors/hardcoded-value.md"),
        Code::UnusedIgnore => include_str!("../../docs/errors/unused-ignore.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_of_its_code_and_has_every_section_with_a_block() {
        for code in Code::ALL {
            let text = page(*code);
            assert!(text.starts_with(&format!("# {code}\n\n")), "{code}: the title");
            let sections: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(sections, ["## Why", "## Wrong", "## Right"], "{code}: the sections");
            let sentence = summary(*code);
            assert!(sentence.ends_with('.') && !sentence.contains(['\n', '|']), "{code}: {sentence}");
            for section in text.split("\n## ").skip(2) {
                assert_eq!(section.matches("```").count(), 2, "{code}: one block a section");
            }
        }
    }
}
