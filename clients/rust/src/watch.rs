use std::time::Duration;

use futures_util::stream::{Stream, try_unfold};
use tokio::time::{Instant, sleep};

use crate::call::Streaming;
use crate::connection::{Connection, within};
use crate::nodes::{NodeTable, NodeUpdate, join};
use crate::repeats::pause;
use crate::v1::{
    DecisionFilter, ListNodesResponse, NodeForm, WatchDecisionsRequest, WatchDecisionsResponse,
    WatchNodesRequest,
};
use crate::{Client, Error, Result};

impl Client {
    /// Gives all nodes, then what changes, until it is dropped or `timeout` is over.
    pub fn watch_nodes(
        &self,
        timeout: Option<Duration>,
    ) -> impl Stream<Item = Result<NodeUpdate>> + use<> {
        let watch = NodeWatch {
            calls: Calls::new(self.home(), timeout),
            table: NodeTable::default(),
        };
        try_unfold(watch, async |mut watch| {
            Ok(Some((watch.next().await?, watch)))
        })
    }

    /// Gives decisions as they are made, or those after `after_seq` and then new ones, until it is dropped or `timeout` is over.
    ///
    /// A reader that is too slow misses some: `missed_count` says how many.
    pub fn watch_decisions(
        &self,
        filter: Option<DecisionFilter>,
        after_seq: Option<u64>,
        timeout: Option<Duration>,
    ) -> impl Stream<Item = Result<WatchDecisionsResponse>> + use<> {
        let begin = WatchDecisionsRequest {
            filter,
            after_seq,
            ..Default::default()
        };
        let watch = DecisionWatch {
            calls: Calls::new(self.home(), timeout),
            begin,
        };
        try_unfold(watch, async |mut watch| {
            Ok(Some((watch.next().await?, watch)))
        })
    }
}

struct NodeWatch {
    calls: Calls<WatchNodesRequest>,
    table: NodeTable,
}

impl NodeWatch {
    async fn next(&mut self) -> Result<NodeUpdate> {
        let mut parts: Option<ListNodesResponse> = None;
        loop {
            let since_epoch = self.table.epoch();
            let begin = WatchNodesRequest {
                since_epoch,
                form: NodeForm::Names.into(),
            };
            let (part, first) = self.calls.next(&begin).await?;
            let more = part.more;
            let nodes = match parts.take().filter(|_| !first) {
                Some(parts) => join(parts, part.into()),
                None => part.into(),
            };
            if more {
                parts = Some(nodes);
                continue;
            }
            let update = self.table.apply(nodes)?;
            if update.complete || !update.added.is_empty() || !update.removed.is_empty() {
                return Ok(update);
            }
        }
    }
}

struct DecisionWatch {
    calls: Calls<WatchDecisionsRequest>,
    begin: WatchDecisionsRequest,
}

impl DecisionWatch {
    async fn next(&mut self) -> Result<WatchDecisionsResponse> {
        loop {
            let (answer, _) = self.calls.next(&self.begin).await?;
            self.begin.after_seq = Some(answer.next_after_seq);
            self.begin.journal_id.clone_from(&answer.journal_id);
            if !answer.decisions.is_empty() || answer.missed_count > 0 {
                return Ok(answer);
            }
        }
    }
}

/// A stream that is begun with a new call when it ends.
struct Calls<R: Streaming> {
    connection: Connection,
    until: Option<Instant>,
    stream: Option<tonic::Streaming<R::Response>>,
    repeat: u32,
}

impl<R: Streaming> Calls<R> {
    fn new(connection: Connection, timeout: Option<Duration>) -> Self {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        Self {
            connection,
            until,
            stream: None,
            repeat: 0,
        }
    }

    /// The next answer, and whether it is the first of a call. A new call has the request `begin`.
    async fn next(&mut self, begin: &R) -> Result<(R::Response, bool)> {
        let mut first = false;
        loop {
            let answer = within(self.until, async {
                let stream = match &mut self.stream {
                    Some(stream) => stream,
                    None => {
                        first = true;
                        self.stream
                            .insert(self.connection.stream(begin.clone(), self.until).await?)
                    }
                };
                stream.message().await
            });
            let pause = pause(self.repeat);
            match answer.await {
                Ok(Some(answer)) => {
                    self.repeat = 0;
                    return Ok((answer, first));
                }
                Ok(None) => {}
                Err(status) => {
                    let error = Error::read(status, true);
                    if !error.repeatable
                        || self
                            .until
                            .is_some_and(|until| Instant::now() + pause >= until)
                    {
                        return Err(error);
                    }
                }
            }
            self.stream = None;
            self.repeat += 1;
            sleep(pause).await;
        }
    }
}
