use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::time::{Instant, sleep};
use tonic::{Code, Status};

use crate::answers::{Explanation, Filtered, Scored};
use crate::call::{Streaming, commits};
use crate::connection::{Connection, Options, within};
use crate::nodes::{NodeTable, NodeUpdate, join, names_in};
use crate::pods::{Placement, Pod, Pods, batch_of, placements_in};
use crate::repeats::pause;
use crate::v1::node_list::Nodes;
use crate::v1::node_selection::Selection;
use crate::v1::{
    BindRequest, CommitMode, CommitOutcome, ErrorReason, ExplainRequest, ExplainStreamRequest,
    FilterRequest, FilterStreamRequest, ListNodesRequest, ListNodesResponse,
    ListReservationsRequest, NodeForm, NodeIndices, NodeList, NodeNames, NodeSelection,
    OpenSessionRequest, PodReference, Reservation, ReserveRequest, ScheduleRequest, ScoreRequest,
    ScoreStreamRequest, UnreserveManyRequest, UnreservedPod, Verdict,
};
use crate::{Call, Error, Result, Session};

/// What is asked: the zero value is about all nodes, and the server chooses the profile.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The names of the nodes to ask about; `None` = all.
    pub among: Option<Vec<String>>,
    /// The profile; "" = as the server says.
    pub profile: String,
    /// Decides between nodes of equal totals.
    pub seed: u64,
    /// The id of the session in which it is answered; "" = the cluster as it is. See [`Session`].
    pub session: String,
    /// Whether an answer about nodes comes in messages of some megabytes, so that all of it may be larger than a message may be.
    pub in_parts: bool,
}

/// The answer about a place.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserved {
    /// Success, or why nothing is reserved.
    pub verdict: Verdict,
    /// Whether the place is new.
    pub outcome: CommitOutcome,
}

/// Asks one server. Every operation is repeated while that is safe and there is time.
///
/// A clone is cheap and shares connections.
#[derive(Debug, Clone)]
pub struct Client {
    shared: Arc<Shared>,
    timeout: Duration,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    home: Connection,
    /// Where calls that commit go, once a server has told it.
    leader: Mutex<Option<Connection>>,
    table: Mutex<NodeTable>,
}

impl Client {
    /// A client of the server at HOST:PORT or unix:/PATH. It connects with the first call, and needs Tokio's runtime.
    ///
    /// # Errors
    ///
    /// The address or a certificate is malformed.
    pub fn new(address: &str, options: Options) -> Result<Self> {
        let home = Connection::new(address, &options)?;
        let timeout = options.timeout;
        let shared = Shared {
            options,
            home,
            leader: Mutex::default(),
            table: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            timeout,
        })
    }

    /// The same client with another time for each operation.
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self {
            shared: self.shared.clone(),
            timeout,
        }
    }

    /// Decides about all pods in order; each sees the earlier ones on their nodes.
    pub async fn schedule(
        &self,
        pods: &[Pods],
        mode: CommitMode,
        question: &Question,
    ) -> Result<Vec<Placement>> {
        let (templates, columns) = batch_of(pods)?;
        let request = ScheduleRequest {
            templates,
            pods: Some(columns.clone()),
            profile: question.profile.clone(),
            session: question.session.clone(),
            seed: question.seed,
            commit_mode: mode.into(),
            // Names, as an index means nothing once its node is gone, and nothing to another replica.
            nodes: Some(named(question.among.as_deref())),
            ..Default::default()
        };
        placements_in(self.call(request).await?, columns)
    }

    /// Says of each node whether the pod may run there.
    pub async fn filter(&self, pod: Pod, question: &Question) -> Result<Filtered> {
        let request = FilterRequest {
            pod: Some(pod.into()),
            profile: question.profile.clone(),
            session: question.session.clone(),
            ..Default::default()
        };
        let (answer, names) = self.named(request, question).await?;
        Filtered::read(answer, names)
    }

    /// Says how good each node is for the pod, taking all as feasible.
    pub async fn score(&self, pod: Pod, question: &Question) -> Result<Scored> {
        let request = ScoreRequest {
            pod: Some(pod.into()),
            profile: question.profile.clone(),
            session: question.session.clone(),
            include_totals: true,
            omit_plugins: true,
            ..Default::default()
        };
        let (answer, names) = self.named(request, question).await?;
        Scored::read(answer, names)
    }

    /// Says where the pod would go, and why, node by node and plugin by plugin.
    pub async fn explain(&self, pod: Pod, question: &Question) -> Result<Explanation> {
        let request = ExplainRequest {
            pod: Some(pod.into()),
            profile: question.profile.clone(),
            session: question.session.clone(),
            seed: question.seed,
            ..Default::default()
        };
        let (answer, names) = self.named(request, question).await?;
        Explanation::read(answer, names)
    }

    /// Keeps a place for the pod. Without success in the verdict nothing is reserved.
    pub async fn reserve(&self, pod: Pod, node: &str, profile: &str) -> Result<Reserved> {
        let request = ReserveRequest {
            pod: Some(pod.into()),
            node: node.into(),
            profile: profile.into(),
        };
        let answer = self.call(request).await?;
        let outcome = answer.outcome();
        Ok(Reserved {
            verdict: answer.verdict.ok_or_else(Error::malformed)?,
            outcome,
        })
    }

    /// Gives up the places of pods, by UID; one answer for each. Doing it twice is safe.
    pub async fn unreserve(
        &self,
        uids: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Vec<UnreservedPod>> {
        let uids = uids.into_iter().map(Into::into).collect();
        let request = UnreserveManyRequest {
            uids,
            ..Default::default()
        };
        Ok(self.call(request).await?.pods)
    }

    /// Lists the places that the server keeps.
    pub async fn list_reservations(&self) -> Result<Vec<Reservation>> {
        let pages = self
            .pages(ListReservationsRequest::default(), self.deadline())
            .await?;
        Ok(pages
            .into_iter()
            .flat_map(|page| page.reservations)
            .collect())
    }

    /// Binds the pod to the node. Doing it twice is safe.
    pub async fn bind(
        &self,
        pod: PodReference,
        node: &str,
        profile: &str,
    ) -> Result<CommitOutcome> {
        let request = BindRequest {
            pod: Some(pod),
            node: node.into(),
            profile: profile.into(),
        };
        Ok(self.call(request).await?.outcome())
    }

    /// Opens a private version of the cluster, in which everything can be tried; it begins with the session of that id, or with
    /// the cluster as it is for "".
    pub async fn open_session(&self, from: &str) -> Result<Session> {
        let request = OpenSessionRequest {
            from_session: from.into(),
            ..Default::default()
        };
        let session = self
            .call(request)
            .await?
            .session
            .ok_or_else(Error::malformed)?;
        Ok(Session::new(self.clone(), session.id))
    }

    /// Lists the nodes by index; "" = all, else those with such labels: a selector as kubectl takes it.
    pub async fn list_nodes(&self, label_selector: &str) -> Result<NodeUpdate> {
        let request = ListNodesRequest {
            form: NodeForm::Names.into(),
            label_selector: label_selector.into(),
            ..Default::default()
        };
        NodeTable::default().apply(self.listed(request, self.deadline()).await?)
    }

    /// Makes any call of the contract, such as `call(v1::GetCapabilitiesRequest {})`.
    pub async fn call<R: Call>(&self, request: R) -> Result<R::Response> {
        self.call_until(request, self.deadline()).await
    }

    /// Asks a question whose answer has node indices: the answer, and the names of its nodes.
    async fn named<R: AboutNodes>(
        &self,
        request: R,
        question: &Question,
    ) -> Result<(R::Response, Vec<String>)> {
        let until = self.deadline();
        loop {
            let answer = self.selecting(request.clone(), question, until).await?;
            let indices = match R::list(&answer).and_then(|list| list.nodes.as_ref()) {
                Some(Nodes::Indices(indices)) => indices,
                Some(_) => {
                    let names = names_in(R::list(&answer).cloned());
                    return Ok((answer, names));
                }
                None => return Ok((answer, question.among.clone().unwrap_or_default())),
            };
            if self.table().names(indices).is_none() {
                self.refresh(until).await?;
            }
            let names = self.table().names(indices);
            if let Some(names) = names {
                return Ok((answer, names));
            }
        }
    }

    /// Asks about nodes by index, which is cheaper than by name.
    async fn selecting<R: AboutNodes>(
        &self,
        mut request: R,
        question: &Question,
        until: Instant,
    ) -> Result<R::Response> {
        if !question.session.is_empty() {
            *request.nodes() = Some(named(question.among.as_deref()));
            return self.answer(request, question, until).await;
        }
        let Some(among) = question.among.as_deref() else {
            *request.nodes() = Some(indexed(None));
            return self.answer(request, question, until).await;
        };
        loop {
            if self.table().indices(among).is_none() {
                self.refresh(until).await?;
            }
            let Some(indices) = self.table().indices(among) else {
                *request.nodes() = Some(named(Some(among)));
                return self.answer(request, question, until).await;
            };
            *request.nodes() = Some(indexed(Some(indices)));
            match self.answer(request.clone(), question, until).await {
                Err(error) if error.reason == Some(ErrorReason::NodeEpochStale) => {
                    self.refresh(until).await?
                }
                answer => return answer,
            }
        }
    }

    /// The answer, of one message or merged from parts.
    async fn answer<R: AboutNodes>(
        &self,
        request: R,
        question: &Question,
        until: Instant,
    ) -> Result<R::Response> {
        if !question.in_parts {
            return self.call_until(request, until).await;
        }
        let request = request.in_parts();
        self.repeated(false, R::IDEMPOTENT, until, |connection| {
            let request = request.clone();
            within(Some(until), async move {
                let mut parts = connection.stream(request, Some(until)).await?;
                let mut whole = R::Response::default();
                while let Some(part) = parts.message().await? {
                    let part = R::part(part).unwrap_or_default().encode_to_vec();
                    whole
                        .merge(part.as_slice())
                        .map_err(|error| Status::internal(error.to_string()))?;
                }
                Ok(whole)
            })
        })
        .await
    }

    async fn refresh(&self, until: Instant) -> Result<()> {
        let since_epoch = self.table().epoch();
        let request = ListNodesRequest {
            since_epoch,
            form: NodeForm::Names.into(),
            ..Default::default()
        };
        let nodes = self.listed(request, until).await?;
        let mut table = self.table();
        // Another task may have refreshed it meanwhile: what changed since then is not known.
        if table.epoch() == since_epoch {
            table.apply(nodes)?;
        }
        Ok(())
    }

    async fn listed(&self, request: ListNodesRequest, until: Instant) -> Result<ListNodesResponse> {
        let pages = self.pages(request, until).await?;
        pages.into_iter().reduce(join).ok_or_else(Error::malformed)
    }

    /// All pages of a list, from the beginning again if the server has forgotten them meanwhile.
    async fn pages<R: Paged>(&self, mut request: R, until: Instant) -> Result<Vec<R::Response>> {
        let mut pages = Vec::new();
        loop {
            match self.call_until(request.clone(), until).await {
                Ok(page) => {
                    *request.token() = R::next(&page).to_owned();
                    pages.push(page);
                    if request.token().is_empty() {
                        return Ok(pages);
                    }
                }
                Err(error)
                    if error.reason == Some(ErrorReason::PageTokenStale) && !pages.is_empty() =>
                {
                    request.token().clear();
                    pages.clear();
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn call_until<R: Call>(&self, request: R, until: Instant) -> Result<R::Response> {
        self.repeated(commits(&request), R::IDEMPOTENT, until, |connection| {
            let request = request.clone();
            async move { connection.unary(request, until).await }
        })
        .await
    }

    async fn repeated<A, F: Future<Output = std::result::Result<A, Status>>>(
        &self,
        committing: bool,
        idempotent: bool,
        until: Instant,
        attempt: impl Fn(Connection) -> F,
    ) -> Result<A> {
        let mut repeat = 0;
        let mut earlier = None;
        loop {
            let leader = self.leader().clone().filter(|_| committing);
            let connection = leader.unwrap_or_else(|| self.home());
            let error = match attempt(connection).await {
                Ok(answer) => return Ok(answer),
                Err(status) => Error::read(status, idempotent),
            };
            let ended = error.code == Code::DeadlineExceeded && error.reason.is_none();
            if let Some(earlier) = earlier.take().filter(|_| ended && idempotent) {
                return Err(earlier); // It says more than that the time is over.
            }
            let pause = pause(repeat);
            let stale = error.reason == Some(ErrorReason::NodeEpochStale);
            if !error.repeatable || stale || Instant::now() + pause >= until {
                return Err(error);
            }
            if committing {
                self.follow(&error)?;
            }
            earlier = Some(error);
            sleep(pause).await;
            repeat += 1;
        }
    }

    /// Remembers the leader that a replica names, and forgets one that can't be reached.
    fn follow(&self, error: &Error) -> Result<()> {
        let mut leader = self.leader();
        match error.reason {
            Some(ErrorReason::NotLeader) => {
                let address = error
                    .metadata
                    .get("leader_address")
                    .filter(|address| !address.is_empty());
                *leader = address
                    .map(|address| Connection::new(address, &self.shared.options))
                    .transpose()?;
            }
            None => *leader = None,
            Some(_) => {}
        }
        Ok(())
    }

    pub(crate) fn home(&self) -> Connection {
        self.shared.home.clone()
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    fn table(&self) -> MutexGuard<'_, NodeTable> {
        self.shared
            .table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn leader(&self) -> MutexGuard<'_, Option<Connection>> {
        self.shared
            .leader
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nodes by name, all by default, and an answer with names.
fn named(among: Option<&[String]>) -> NodeSelection {
    let selection = among.map(|names| {
        Selection::Names(NodeNames {
            names: names.to_vec(),
        })
    });
    NodeSelection {
        selection,
        answer_form: NodeForm::Names.into(),
        ..Default::default()
    }
}

/// Nodes by index, all by default, and an answer with indices.
fn indexed(indices: Option<NodeIndices>) -> NodeSelection {
    let selection = indices.map(Selection::Indices);
    NodeSelection {
        selection,
        answer_form: NodeForm::Indices.into(),
        ..Default::default()
    }
}

/// The request of a question about nodes.
trait AboutNodes: Call {
    /// The request of the same answer in parts.
    type InParts: Streaming;
    fn nodes(&mut self) -> &mut Option<NodeSelection>;
    fn list(answer: &Self::Response) -> Option<&NodeList>;
    fn in_parts(self) -> Self::InParts;
    fn part(answer: <Self::InParts as Streaming>::Response) -> Option<Self::Response>;
}

macro_rules! about_nodes {
    ($($request:ty => $stream:ident),*) => {$(
        impl AboutNodes for $request {
            type InParts = $stream;
            fn nodes(&mut self) -> &mut Option<NodeSelection> {
                &mut self.nodes
            }
            fn list(answer: &Self::Response) -> Option<&NodeList> {
                answer.nodes.as_ref()
            }
            fn in_parts(self) -> $stream {
                $stream { request: Some(self) }
            }
            fn part(answer: <$stream as Streaming>::Response) -> Option<Self::Response> {
                answer.part
            }
        }
    )*};
}

about_nodes!(
    FilterRequest => FilterStreamRequest,
    ScoreRequest => ScoreStreamRequest,
    ExplainRequest => ExplainStreamRequest
);

/// The request of a list that has pages.
trait Paged: Call {
    fn token(&mut self) -> &mut String;
    fn next(page: &Self::Response) -> &str;
}

macro_rules! paged {
    ($($request:ty),*) => {$(
        impl Paged for $request {
            fn token(&mut self) -> &mut String {
                &mut self.page_token
            }
            fn next(page: &Self::Response) -> &str {
                &page.next_page_token
            }
        }
    )*};
}

paged!(ListNodesRequest, ListReservationsRequest);
