//! A declared tool that asks an SQLite database: a file, or one made in memory by a script.
//!
//! Main type: [`Query`]. The arguments of a call are the named parameters of its one statement; the
//! rows are the result. Runs where blocking is allowed, and stops when nobody waits for it any more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value as SqlValue};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Statement};
use serde_json::{Map, Value, json};

use super::declared::{Surroundings, place, unfilled};
use super::form::Form;
use super::rows::Rows;
use super::{CallContext, Tool, ToolFault};
use crate::spec::{Effect, ToolKind, ToolSpec};
use crate::template::TemplateError;

/// How long a locked database is waited for within one call.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Instructions of the database between two looks at whether the query should still run.
const LOOK_EVERY: i32 = 1000;

/// A query against a database.
pub(super) struct Query {
    spec: ToolSpec,
    database: Option<Form>,
    init: Option<Form>,
    query: String,
    surroundings: Arc<Surroundings>,
}

impl Query {
    /// Parses the paths; the query itself is never a template.
    pub(super) fn new(
        spec: ToolSpec,
        database: Option<&str>,
        init: Option<&str>,
        query: &str,
        surroundings: Arc<Surroundings>,
    ) -> Result<Self, TemplateError> {
        let database = database.map(Form::text).transpose()?;
        let init = init.map(Form::text).transpose()?;
        Ok(Self { spec, database, init, query: query.to_owned(), surroundings })
    }

    fn job(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Job, ToolFault> {
        let path = |form: &Option<Form>, part: &str| {
            let Some(form) = form else { return Ok(None) };
            let written = match form {
                Form::Ready(Value::String(text)) => text.clone(),
                form => form
                    .fill_text(&self.surroundings.scope(args))
                    .map_err(|error| unfilled(&format!("`sql.{part}`"), &error))?,
            };
            Ok(Some(Place {
                path: self.surroundings.path(&written),
                name: place(&written, &self.surroundings.base),
                text: self.surroundings.scripts.get(&written).cloned(),
            }))
        };
        Ok(Job {
            database: path(&self.database, "database")?,
            init: path(&self.init, "init")?,
            query: self.query.clone(),
            args: args.clone(),
            declared: self.spec.parameters.get("properties").cloned().unwrap_or_default(),
            only_reads: self.spec.effect == Effect::Read,
            max_bytes: context.max_output_bytes,
            deadline: context.timeout.map(|timeout| Instant::now() + timeout),
            lock_wait: context.timeout.map_or(LOCK_WAIT, |timeout| timeout.min(LOCK_WAIT)),
            unwanted: Arc::default(),
        })
    }
}

/// The scripts that tools will load, by their paths as the file names them. One that cannot be read, or
/// is named by an argument of the call, is left to the call.
pub fn scripts(specs: &[ToolSpec], surroundings: &Surroundings) -> BTreeMap<String, String> {
    let named = specs.iter().filter_map(|spec| match &spec.kind {
        ToolKind::Sql { init: Some(init), .. } => {
            Form::text(init).ok()?.fill_text(&surroundings.scope(&Map::new())).ok()
        }
        _ => None,
    });
    let read = |written: String| {
        let script = Place { path: surroundings.path(&written), name: String::new(), text: None };
        Some((written, read_script(&script).ok()?))
    };
    named.filter_map(read).collect()
}

#[async_trait]
impl Tool for Query {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let job = self.job(args, context)?;
        let unwanted = Unwanted(Arc::clone(&job.unwanted));
        let mut asked = tokio::task::spawn_blocking(move || job.run());
        let asked = tokio::select! {
            asked = &mut asked => asked,
            () = context.stop.cancelled() => {
                // It stops within moments, or is through: then what it did counts.
                drop(unwanted);
                asked.await
            }
        };
        match (asked, context.timeout) {
            (Ok(Err(Stop::Unwanted)), _) => Err(ToolFault::stopped("the query")),
            (Ok(Err(Stop::Timeout)), Some(timeout)) => Err(ToolFault::timeout("the query", timeout)),
            (Ok(Ok(value)), _) => Ok(value),
            (Ok(Err(Stop::Fault(fault))), _) => Err(fault),
            (Ok(Err(Stop::Timeout)), None) => panic!("bug: a query without a deadline missed it"),
            (Err(error), _) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolFault::transient("the query was ended with the program")),
            },
        }
    }
}

/// Set when nobody waits for the query any more.
struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Place {
    path: PathBuf,
    /// As the file wrote it, for messages.
    name: String,
    /// What it held when the run started, where that is known.
    text: Option<String>,
}

/// Everything one call needs, away from the caller.
struct Job {
    database: Option<Place>,
    init: Option<Place>,
    query: String,
    args: Map<String, Value>,
    /// The tool's declared parameters by name.
    declared: Value,
    only_reads: bool,
    max_bytes: usize,
    deadline: Option<Instant>,
    lock_wait: Duration,
    unwanted: Arc<AtomicBool>,
}

/// Why a query has no result.
enum Stop {
    Timeout,
    Unwanted,
    Fault(ToolFault),
}

impl From<ToolFault> for Stop {
    fn from(fault: ToolFault) -> Self {
        Self::Fault(fault)
    }
}

impl Job {
    fn run(&self) -> Result<Value, Stop> {
        let mut connection = self.open()?;
        let (unwanted, deadline) = (Arc::clone(&self.unwanted), self.deadline);
        let stops = move || {
            unwanted.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| Instant::now() >= deadline)
        };
        let bounded = connection
            .progress_handler(LOOK_EVERY, Some(stops))
            .and_then(|()| connection.busy_timeout(self.lock_wait));
        bounded.map_err(|error| self.fault("the database cannot be used", &error))?;
        self.prepare_memory(&connection)?;
        // What is reached is what the file names: no second database by way of the query.
        let limited = connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0);
        limited.map_err(|error| self.fault("the database cannot be used", &error))?;
        self.ask(&connection)
    }

    fn open(&self) -> Result<Connection, Stop> {
        let Some(place) = &self.database else {
            return Connection::open_in_memory()
                .map_err(|error| self.fault("no database can be made in memory", &error));
        };
        if !place.path.exists() {
            return Err(ToolFault::permanent(format!("there is no database {}", place.name)).into());
        }
        let access = if self.only_reads {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        };
        Connection::open_with_flags(&place.path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| self.fault(&format!("the database {} cannot be opened", place.name), &error))
    }

    fn prepare_memory(&self, connection: &Connection) -> Result<(), Stop> {
        let Some(script) = &self.init else { return Ok(()) };
        let text = match &script.text {
            Some(text) => text.clone(),
            None => read_script(script)?,
        };
        connection
            .execute_batch(&text)
            .map_err(|error| self.fault(&format!("the script {} failed", script.name), &error))
    }

    fn ask(&self, connection: &Connection) -> Result<Value, Stop> {
        let mut statement = connection.prepare(&self.query).map_err(|error| match error {
            Error::MultipleStatement => {
                ToolFault::permanent("`sql.query` holds more than one statement; a tool runs exactly one")
                    .into()
            }
            Error::Empty => ToolFault::permanent("`sql.query` holds no statement").into(),
            error => self.fault("the query is refused", &error),
        })?;
        if self.only_reads && !statement.readonly() {
            return Err(ToolFault::permanent(
                "the query changes the database, but the tool declares `effect: read`",
            )
            .into());
        }
        self.bind(&mut statement)?;
        let failed = |error| self.fault("the query failed", &error);
        if statement.column_count() == 0 {
            let before = connection.total_changes();
            let changed = statement.raw_execute().map_err(failed)?;
            // A statement that changes no row (CREATE TABLE) leaves the last count as it was.
            let changed = if connection.total_changes() == before { 0 } else { changed };
            return Ok(json!({"rows_affected": changed}));
        }
        let mut found = Rows::new(&statement, self.max_bytes);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            if !found.push(row).map_err(failed)? {
                break;
            }
        }
        Ok(found.into_value())
    }

    fn bind(&self, statement: &mut Statement<'_>) -> Result<(), Stop> {
        for index in 1..=statement.parameter_count() {
            let written = statement.parameter_name(index).unwrap_or("?").to_owned();
            let name = written.trim_start_matches([':', '@', '$']);
            if written.starts_with('?') {
                let message = format!("`sql.query` has the unnamed parameter `{written}`; name it: `:name`");
                return Err(ToolFault::permanent(message).into());
            }
            let value = match self.args.get(name) {
                Some(value) => value,
                // An optional argument that was not given: `:region IS NULL OR region = :region`.
                None if self.declared.get(name).is_some() => &Value::Null,
                None => {
                    let message = format!("`sql.query` reads `{written}`, but there is no argument `{name}`");
                    return Err(ToolFault::permanent(message).into());
                }
            };
            statement
                .raw_bind_parameter(index, ToSqlOutput::Owned(sql_value(value)))
                .map_err(|error| self.fault(&format!("the argument `{name}` is refused"), &error))?;
        }
        Ok(())
    }

    fn fault(&self, what: &str, error: &Error) -> Stop {
        let reason = match error {
            Error::SqliteFailure(_, Some(message)) => message.clone(),
            Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
                if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) =>
            {
                Stop::Timeout
            }
            Some(ErrorCode::OperationInterrupted) => Stop::Unwanted,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                match self.unwanted.load(Ordering::Relaxed) {
                    true => Stop::Unwanted,
                    false => ToolFault::transient(format!("{what}: {reason}")).into(),
                }
            }
            _ => ToolFault::permanent(format!("{what}: {reason}")).into(),
        }
    }
}

fn read_script(script: &Place) -> Result<String, ToolFault> {
    std::fs::read_to_string(Path::new(&script.path)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ToolFault::permanent(format!("there is no script {}", script.name)),
        _ => ToolFault::permanent(format!("the script {} cannot be read: {error}", script.name)),
    })
}

fn sql_value(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Bool(value) => SqlValue::Integer((*value).into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => SqlValue::Integer(integer),
            (None, Some(real)) => SqlValue::Real(real),
            (None, None) => SqlValue::Text(number.to_string()),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => SqlValue::Text(value.to_string()),
    }
}

#[cfg(test)]
mod tests;
