//! A conversation for models that cannot be shown tools: what was called and what came of it, as text.
//!
//! Pure functions over messages. Knows no provider.

use std::collections::HashMap;

use super::Message;
use crate::spec::ToolSpec;

/// The same conversation without calls: each result stands where it stood, with the tool's name and the
/// arguments it was called with.
pub fn without_tools(messages: &[Message]) -> Vec<Message> {
    let mut arguments: HashMap<&str, &str> = HashMap::new();
    let mut said = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::Assistant { text, calls } => {
                arguments.extend(calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())));
                if calls.is_empty() || !text.trim().is_empty() {
                    said.push(Message::Assistant { text: text.clone(), calls: Vec::new() });
                }
            }
            Message::Tool { call, name, text } => {
                let with = arguments.get(call.as_str()).copied().unwrap_or("{}");
                let text = format!("The tool `{name}` was called with {with} and answered:\n{text}");
                said.push(Message::User { text });
            }
            Message::System { .. } | Message::User { .. } => said.push(message.clone()),
        }
    }
    said
}

/// What asks for the arguments of a tool where the tool cannot be shown.
pub fn arguments_of(tool: &ToolSpec) -> String {
    let description = tool.description.trim();
    let about = if description.is_empty() { String::new() } else { format!(" ({description})") };
    format!(
        "Answer with the arguments for the tool `{}`{about} and nothing else: one JSON object that fits \
         this JSON Schema:\n{}",
        tool.name, tool.parameters
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Call;

    #[test]
    fn results_stay_where_they_were() {
        let call = |id: &str, arguments: &str| Call {
            id: id.to_owned(),
            name: "t".into(),
            arguments: arguments.to_owned(),
        };
        let user = |text: &str| Message::User { text: text.to_owned() };
        let answer =
            |id: &str| Message::Tool { call: id.to_owned(), name: "t".into(), text: "[1]".to_owned() };
        let calls = vec![call("a", "{\"x\":1}"), call("b", "{\"x\":2}")];
        let said = without_tools(&[
            user("go"),
            Message::Assistant { text: "Two calls.".to_owned(), calls },
            answer("b"),
            answer("a"),
            Message::Assistant { text: String::new(), calls: vec![call("c", "{}")] },
            answer("c"),
            Message::Assistant { text: String::new(), calls: Vec::new() },
        ]);
        let expected = [
            user("go"),
            Message::Assistant { text: "Two calls.".to_owned(), calls: Vec::new() },
            user("The tool `t` was called with {\"x\":2} and answered:\n[1]"),
            user("The tool `t` was called with {\"x\":1} and answered:\n[1]"),
            user("The tool `t` was called with {} and answered:\n[1]"),
            Message::Assistant { text: String::new(), calls: Vec::new() },
        ];
        assert_eq!(said, expected);
    }
}
