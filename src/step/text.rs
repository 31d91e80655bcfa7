//! A `reasoning` or `aggregate` step: the model's text is the result, or JSON that fits a schema.
//!
//! An empty text is an answer. Knows nothing of what the text says.

use serde_json::Value;

use super::ask::{Dialogue, REPAIRS};
use super::strict::Strict;
use super::tool_call::{list, unfenced};
use super::{Attempt, Question, Trouble, model_failure};
use crate::llm::{Choice, Finish, Reply, ResponseFormat};
use crate::spec::Schema;

impl Attempt<'_> {
    /// Asks the model for text, or for JSON that fits the schema, within bounds.
    pub(super) async fn ask_text(
        &self,
        question: Question,
        schema: Option<&(Value, Schema)>,
    ) -> Result<Value, Trouble> {
        let format =
            schema.map(|(schema, _)| ResponseFormat { name: "result".to_owned(), schema: schema.clone() });
        let mut dialogue = Dialogue::new(self, question);
        let mut reminded = false;
        let mut repairs = 0;
        loop {
            let reply = dialogue.ask(Choice::None, format.clone()).await?;
            match reply.finish {
                Finish::Refused => {
                    let said =
                        if reply.text.is_empty() { String::new() } else { format!(": {}", reply.text) };
                    return Err(model_failure(format!("the model declined to answer{said}")).into());
                }
                Finish::Length => {
                    let advice = "raise max_tokens of the model, or ask for less";
                    return Err(
                        model_failure(format!("the answer was cut at the token limit; {advice}")).into()
                    );
                }
                Finish::Stop => {}
            }
            if !reply.calls.is_empty() && reply.text.trim().is_empty() {
                if reminded {
                    return Err(model_failure("the model called a tool where text was asked, twice").into());
                }
                reminded = true;
                dialogue.send_back(reply, "No tool can be called here. Answer in text.");
                continue;
            }
            let Some((schema, compiled)) = schema else { return Ok(Value::String(reply.text)) };
            let complaint = match fitting(&reply, compiled) {
                Ok(value) => return Ok(value),
                Err(complaint) => complaint,
            };
            if repairs == REPAIRS {
                let tries = repairs + 1;
                let message = format!(
                    "the model gave no result that fits output_schema in {tries} tries; the last time: {complaint}"
                );
                return Err(model_failure(message).into());
            }
            repairs += 1;
            let complaint = format!(
                "That cannot be used: {complaint}.\nAnswer again with JSON alone that fits this JSON Schema:\n{schema}"
            );
            dialogue.send_back(reply, &complaint);
        }
    }
}

/// The value in a reply, if it fits.
fn fitting(reply: &Reply, schema: &Schema) -> Result<Value, String> {
    let Strict(value) = serde_json::from_str(unfenced(&reply.text).trim())
        .map_err(|error| format!("the answer is not valid JSON: {error}"))?;
    match schema.check(&value) {
        mismatches if mismatches.is_empty() => Ok(value),
        mismatches => Err(list(&mismatches)),
    }
}
