//! A way to a server that can be cut: a proxy that copies bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Passes connections on to a port of this machine, until it is cut.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    way: Arc<Way>,
}

#[derive(Debug)]
struct Way {
    to: u16,
    cut: AtomicBool,
    stalled: AtomicBool,
    ended: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Begins to listen on a port of its own.
    pub fn to(to: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let way = Arc::new(Way {
            to,
            cut: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            streams: Mutex::new(Vec::new()),
        });
        let serving = Arc::clone(&way);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if serving.ended.load(Ordering::Relaxed) {
                    break;
                }
                serving.pass_on(client);
            }
        });
        Self { port, way }
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Breaks all connections, and refuses new ones until [`Proxy::mend`].
    pub fn cut(&self) {
        self.way.cut.store(true, Ordering::SeqCst);
        for stream in self.way.streams().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Swallows everything from now on, on connections that stay open, until
    /// [`Proxy::mend`]: what was swallowed then arrives, as it is sent again by TCP.
    pub fn stall(&self) {
        self.way.stalled.store(true, Ordering::SeqCst);
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.way.stalled.store(false, Ordering::SeqCst);
        self.way.cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.way.ended.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Way {
    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(self: &Arc<Self>, client: TcpStream) {
        if self.cut.load(Ordering::SeqCst) {
            return;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.to)) else { return };
        let both = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
        let (Some(there), Some(back), Some(kept)) = (both(), both(), both()) else { return };
        let mut streams = self.streams();
        streams.extend([kept.0, kept.1]);
        for (from, to) in [(there.0, there.1), (back.1, back.0)] {
            let way = Arc::clone(self);
            thread::spawn(move || way.copy(from, to));
        }
        if self.cut.load(Ordering::SeqCst) {
            for stream in streams.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Copies until either side ends, and then ends both.
    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            while self.stalled.load(Ordering::SeqCst) && !self.cut.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_until_the_way_is_cut() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let proxy = Proxy::to(listener.local_addr().unwrap().port());
        let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let mut server = listener.accept().unwrap().0;
        client.write_all(b"hello").unwrap();
        let mut bytes = [0; 5];
        server.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"hello");
        proxy.stall();
        client.write_all(b"again").unwrap();
        server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(server.read(&mut bytes).is_err(), "nothing arrives");
        proxy.mend();
        server.set_read_timeout(None).unwrap();
        server.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"again");
        proxy.cut();
        assert_eq!(client.read(&mut bytes).unwrap_or(0), 0);
        assert_eq!(server.read(&mut bytes).unwrap_or(0), 0);
    }
}
