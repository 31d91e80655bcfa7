//! Mistakes of an author, person or model: what is wrong, where, and how to mend it.
//!
//! Main type: [`Diagnostic`]. Knows the list of codes; knows no check and no way to print.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::source::Span;

/// How bad a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing runs until it is mended.
    Error,
    /// Accepted, but probably not what was meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

macro_rules! codes {
    ($( $variant:ident $text:literal $severity:ident; )*) => {
        /// What kind of mistake it is. The names are stable: files and scripts rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $( $variant, )* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[ $( Code::$variant, )* ];

            /// The name of the code, in kebab-case.
            pub fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $text, )* }
            }

            /// How bad a mistake of this kind is unless a check says otherwise.
            pub fn severity(self) -> Severity {
                match self { $( Code::$variant => Severity::$severity, )* }
            }
        }
    };
}

codes! {
    UnreadableFile "unreadable-file" Error;
    InvalidUtf8 "invalid-utf8" Error;
    EmptyFile "empty-file" Error;
    FileTooLarge "file-too-large" Error;
    TooDeep "too-deep" Error;
    AliasLimit "alias-limit" Error;
    YamlSyntax "yaml-syntax" Error;
    TabIndent "tab-indent" Error;
    MultipleDocuments "multiple-documents" Error;
    DuplicateKey "duplicate-key" Error;
    CustomTag "custom-tag" Error;
    NonStringKey "non-string-key" Error;
    ControlCharacter "control-character" Error;
    NotAMapping "not-a-mapping" Error;
    UnknownKey "unknown-key" Error;
    MissingKey "missing-key" Error;
    WrongType "wrong-type" Error;
    InvalidValue "invalid-value" Error;
    KeyNotForType "key-not-for-type" Error;
    ConflictingKeys "conflicting-keys" Error;
    EmptySequence "empty-sequence" Error;
    InvalidDuration "invalid-duration" Error;
    InvalidSchema "invalid-schema" Error;
    AmbiguousScalar "ambiguous-scalar" Warning;
    DuplicateId "duplicate-id" Error;
    InvalidId "invalid-id" Error;
    DuplicateTool "duplicate-tool" Error;
    UnknownStep "unknown-step" Error;
    SelfReference "self-reference" Error;
    LaterStep "later-step" Error;
    DependencyCycle "dependency-cycle" Error;
    MayBeCancelled "may-be-cancelled" Warning;
    UnreadResult "unread-result" Warning;
    UnknownTool "unknown-tool" Error;
    MissingArgument "missing-argument" Error;
    UnknownArgument "unknown-argument" Error;
    ArgumentType "argument-type" Error;
    InvalidPointer "invalid-pointer" Error;
    UnusedTool "unused-tool" Warning;
    TemplateSyntax "template-syntax" Error;
    TemplateNotAllowed "template-not-allowed" Error;
    UnknownVariable "unknown-variable" Error;
    UnusedInput "unused-input" Warning;
    MissingInput "missing-input" Error;
    UnknownInput "unknown-input" Error;
    InputType "input-type" Error;
    UnknownProvider "unknown-provider" Error;
    MissingCredential "missing-credential" Warning;
    SecretInFile "secret-in-file" Error;
    UndeclaredEnv "undeclared-env" Error;
    PathOutsideWorkspace "path-outside-workspace" Error;
    NoPlan "no-plan" Error;
    AmbiguousPlan "ambiguous-plan" Error;
    TruncatedReply "truncated-reply" Error;
    ProseReference "prose-reference" Error;
    HardcodedValue "hardcoded-value" Warning;
    UnusedIgnore "unused-ignore" Warning;
}

impl Code {
    /// The code of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Another place that has to do with a mistake: the first of two duplicates, the declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub span: Span,
    pub message: String,
}

/// A mechanical mend: put `replacement` where `span` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    pub span: Span,
    pub replacement: String,
}

/// One mistake of an author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// Where, in the source that was read.
    pub span: Span,
    /// Where, in the document: `workflow_sequence[0].args.week`; empty for the document itself.
    pub path: String,
    /// What was found and why it is wrong; one sentence, lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    pub related: Vec<Related>,
    pub suggestion: Option<Suggestion>,
    /// What of the text is not to be repeated anywhere: a secret.
    pub hidden: Option<Span>,
}

impl Diagnostic {
    /// A mistake with the usual severity of its code.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            span,
            path: String::new(),
            message: message.into(),
            help: None,
            related: Vec::new(),
            suggestion: None,
            hidden: None,
        }
    }

    /// The same, with its place in the document.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The same, with advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, with one more related place.
    pub fn related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related.push(Related { span, message: message.into() });
        self
    }

    /// The same, with a mechanical mend.
    pub fn suggest(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.suggestion = Some(Suggestion { span, replacement: replacement.into() });
        self
    }

    /// Whether nothing may run because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Puts mistakes in the order of their places, errors before warnings at one place.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        (a.span.start, a.severity, a.span.end, a.code).cmp(&(b.span.start, b.severity, b.span.end, b.code))
    });
}

/// The nearest of the known names to one that is not known: differing only in case or `-`/`_`, or by
/// few edits for its length. `None` when nothing is near enough to be what was meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(name, known).into_iter().min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// The same, if no other name is as near: then it can only be what was meant.
pub fn only_nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = near(name, known);
    let (least, found) = near.iter().min_by_key(|(distance, _)| *distance)?;
    let alone = near.iter().all(|(distance, candidate)| distance > least || candidate == found);
    alone.then_some(*found)
}

/// Longest name that is compared with others, in bytes: comparing costs the product of both lengths.
const LONGEST: usize = 200;

fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let fold = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = fold(name);
    let length = wanted.chars().count();
    let allowed = match length {
        0..=2 => 1,
        3..=5 => 2,
        length => (length / 3).max(2),
    };
    let candidates = known.into_iter().filter(|candidate| candidate.len() <= LONGEST);
    candidates
        .map(|candidate| (candidate, fold(candidate)))
        // Names of such different lengths are further apart than is allowed.
        .filter(|(_, folded)| folded.chars().count().abs_diff(length) <= allowed)
        .map(|(candidate, folded)| (strsim::damerau_levenshtein(&wanted, &folded), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .collect()
}
