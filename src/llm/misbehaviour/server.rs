//! A server that does to each connection what a script says, whatever HTTP makes of it.
//!
//! Main function: [`serve`]. Reads a request whole before it acts, and keeps it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is done to a connection once its request has been read.
#[derive(Clone, Debug)]
pub enum Act {
    Send(Vec<u8>),
    /// Resets the connection instead of closing it.
    Reset,
    /// Sends this again and again, for ever.
    Drip(&'static [u8]),
    /// Neither sends nor closes.
    Stall,
}

/// For each connection what is done to it.
pub type Script = Vec<Vec<Act>>;

/// The requests that came, head and body.
pub type Served = Arc<Mutex<Vec<String>>>;

/// Listens, until the script is over and for ever after.
pub async fn serve(script: Script) -> (SocketAddr, Served) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Served::default();
    let seen = Arc::clone(&served);
    tokio::spawn(async move {
        let mut script = script.into_iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(acts) = script.next() else {
                seen.lock().unwrap().push("one request too many".to_owned());
                continue;
            };
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                // A client that hangs up early is part of these tests.
                let Ok(request) = request(&mut stream).await else { return };
                seen.lock().unwrap().push(request);
                let _ = act(&mut stream, &acts).await;
            });
        }
    });
    (address, served)
}

async fn request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen);
        // What does not speak HTTP (TLS) is answered at once.
        if seen.first().is_some_and(|first| !first.is_ascii_alphabetic()) {
            return Ok(text.into_owned());
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            if body.len() >= length.unwrap_or_default() {
                return Ok(text.into_owned());
            }
        }
        match stream.read(&mut buffer).await? {
            0 => return Ok(text.into_owned()),
            read => seen.extend_from_slice(&buffer[..read]),
        }
    }
}

async fn act(stream: &mut TcpStream, acts: &[Act]) -> std::io::Result<()> {
    for act in acts {
        match act {
            Act::Send(bytes) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
            }
            // Closing with no time to linger sends a reset instead of an orderly end.
            Act::Reset => return stream.set_zero_linger(),
            Act::Drip(bytes) => {
                let mut beat = tokio::time::interval(Duration::from_millis(20));
                loop {
                    beat.tick().await;
                    stream.write_all(bytes).await?;
                }
            }
            Act::Stall => std::future::pending().await,
        }
    }
    stream.shutdown().await
}
