//! What a supervisor is told and what it reports: frames on a socket, each a length, a kind and a body.
//!
//! Main types: [`Wish`], [`Report`] and [`Link`], one end of the socket. The end of the stream is a
//! message too: whoever held the supervisor is gone, and everything must end. Knows no process.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;

use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::tool::process::Order;

/// Bytes before the body: four of length, one of kind.
const HEAD: usize = 5;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// What a supervisor is told.
pub(in crate::tool) enum Wish {
    /// The first one: what to start. It does not stand in the supervisor's own arguments, where everybody
    /// could read it and where its length would count twice.
    Start(Order),
    /// What the program reads next.
    Input(Vec<u8>),
    /// There is nothing more for it to read.
    InputEnd,
    /// Everything the program started is asked to end.
    AskToEnd,
}

/// What a supervisor reports.
#[derive(Debug, PartialEq)]
pub(in crate::tool) enum Report {
    /// The program runs, under this number.
    Started(i32),
    /// The program cannot be started; the number of the system's error.
    NotStarted(i32),
    /// The program has ended; its status as the system tells it.
    Ended(i32),
}

/// A message that goes over a link.
pub(in crate::tool) trait Frame: Sized {
    fn encode(&self) -> (u8, Vec<u8>);
    fn decode(kind: u8, body: &[u8]) -> io::Result<Self>;
}

impl Frame for Wish {
    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Start(order) => {
                let order = serde_json::to_vec(order);
                (b'S', order.unwrap_or_else(|error| panic!("bug: an order is no JSON: {error}")))
            }
            Self::Input(bytes) => (b'I', bytes.clone()),
            Self::InputEnd => (b'E', Vec::new()),
            Self::AskToEnd => (b'A', Vec::new()),
        }
    }

    fn decode(kind: u8, body: &[u8]) -> io::Result<Self> {
        match kind {
            b'S' => Ok(Self::Start(serde_json::from_slice(body)?)),
            b'I' => Ok(Self::Input(body.to_vec())),
            b'E' => Ok(Self::InputEnd),
            b'A' => Ok(Self::AskToEnd),
            _ => Err(unknown(kind)),
        }
    }
}

impl Frame for Report {
    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Started(id) => (b's', id.to_le_bytes().to_vec()),
            Self::NotStarted(number) => (b'n', number.to_le_bytes().to_vec()),
            Self::Ended(status) => (b'e', status.to_le_bytes().to_vec()),
        }
    }

    fn decode(kind: u8, body: &[u8]) -> io::Result<Self> {
        let number = body.try_into().map(i32::from_le_bytes).map_err(|_| unknown(kind))?;
        match kind {
            b's' => Ok(Self::Started(number)),
            b'n' => Ok(Self::NotStarted(number)),
            b'e' => Ok(Self::Ended(number)),
            _ => Err(unknown(kind)),
        }
    }
}

fn unknown(kind: u8) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of the unknown kind {kind}"))
}

/// One end of the socket. What is sent goes out while something is waited for.
pub(in crate::tool) struct Link {
    socket: UnixStream,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// The same socket, by which sending can be given up at once.
    handle: StdStream,
}

impl Link {
    pub(in crate::tool) fn new(socket: StdStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let handle = socket.try_clone()?;
        let socket = UnixStream::from_std(socket)?;
        Ok(Self { socket, unread: Vec::new(), unsent: Vec::new(), handle })
    }

    /// Puts a message behind those that were not sent yet, and sends what can be sent at once.
    pub(in crate::tool) fn send(&mut self, frame: &impl Frame) {
        let (kind, body) = frame.encode();
        let length = u32::try_from(body.len());
        let length = length.unwrap_or_else(|_| panic!("bug: a message of {} bytes", body.len()));
        self.unsent.extend_from_slice(&length.to_le_bytes());
        self.unsent.push(kind);
        self.unsent.extend_from_slice(&body);
        self.push();
    }

    /// Nothing more is sent, also what was not sent yet: the other side sees the end of the stream.
    pub(in crate::tool) fn close(&mut self) {
        self.unsent.clear();
        // The other side may be gone already.
        let _ = self.handle.shutdown(Shutdown::Write);
    }

    /// Waits for the next message; `None` when the other side has closed. May be dropped and called again.
    ///
    /// # Errors
    /// If the socket fails, or what comes is no message.
    pub(in crate::tool) async fn next<F: Frame>(&mut self) -> io::Result<Option<F>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            let ready = self.socket.ready(self.interest()).await?;
            if ready.is_writable() {
                self.push();
            }
            if ready.is_readable() {
                self.unread.reserve(CHUNK);
                match self.socket.try_read_buf(&mut self.unread) {
                    Ok(0) => return Ok(None),
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // It has closed without having read everything.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Waits until all that was sent is on its way, or the other side is gone.
    pub(in crate::tool) async fn flush(&mut self) {
        while !self.unsent.is_empty() && self.socket.writable().await.is_ok() {
            self.push();
        }
    }

    fn interest(&self) -> Interest {
        if self.unsent.is_empty() { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE }
    }

    fn push(&mut self) {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.socket.try_write(&self.unsent[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Nobody reads any more; what was reported before that can still be read.
                Err(_) => sent = self.unsent.len(),
            }
        }
        self.unsent.drain(..sent);
    }

    fn take<F: Frame>(&mut self) -> io::Result<Option<F>> {
        let Some((head, rest)) = self.unread.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [a, b, c, d, kind] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = F::decode(kind, body)?;
        self.unread.drain(..HEAD + length);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        use std::os::unix::ffi::OsStringExt;
        let odd = std::ffi::OsString::from_vec(vec![b'a', 0xff, b'\n']);
        Order {
            program: "x".into(),
            args: vec!["".into(), odd.clone()],
            env: vec![("A".into(), odd)],
            folder: "".into(),
        }
    }

    #[tokio::test]
    async fn messages_arrive_as_they_were_sent_however_they_are_cut() {
        let (left, right) = StdStream::pair().expect("a pair");
        let (mut left, mut right) = (Link::new(left).expect("a link"), Link::new(right).expect("a link"));
        // More than a socket holds, so that it must be sent while the answer is waited for.
        let long = vec![7; 3 << 20];
        left.send(&Wish::Start(order()));
        left.send(&Wish::Input(long.clone()));
        left.send(&Wish::InputEnd);
        left.send(&Wish::AskToEnd);
        let talk = async move {
            assert!(matches!(right.next().await, Ok(Some(Wish::Start(read))) if read == order()));
            assert!(matches!(right.next().await, Ok(Some(Wish::Input(read))) if read == long));
            assert!(matches!(right.next().await, Ok(Some(Wish::InputEnd))));
            assert!(matches!(right.next().await, Ok(Some(Wish::AskToEnd))));
            for report in [Report::Started(7), Report::NotStarted(2), Report::Ended(9)] {
                right.send(&report);
            }
            right.flush().await;
            assert!(matches!(right.next::<Wish>().await, Ok(None)));
        };
        let answer = async {
            let mut seen = Vec::new();
            while seen.len() < 3 {
                seen.push(left.next::<Report>().await.expect("a link").expect("a report"));
            }
            left.close();
            assert!(matches!(left.next::<Report>().await, Ok(None)));
            seen
        };
        let ((), seen) = tokio::join!(talk, answer);
        assert_eq!(seen, [Report::Started(7), Report::NotStarted(2), Report::Ended(9)]);
    }

    #[tokio::test]
    async fn what_is_no_message_is_a_fault() {
        let (left, right) = StdStream::pair().expect("a pair");
        let mut right = Link::new(right).expect("a link");
        std::io::Write::write_all(&mut &left, &[0, 0, 0, 0, b'?']).expect("written");
        let error = right.next::<Wish>().await.err().expect("is unknown");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
