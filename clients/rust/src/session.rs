use crate::answers::{Explanation, Filtered, Scored};
use crate::v1::session_change::Change;
use crate::v1::{
    self, ChangeSessionRequest, CloseSessionRequest, CommitMode, CommitSessionRequest,
    MarkSessionRequest, RevertSessionRequest, SessionChange,
};
use crate::{Client, Error, Placement, Pod, Pods, Question, Result};

/// A private version of the cluster: nothing that is done in it shows outside, and nothing that happens later shows in it.
///
/// It ends when it is closed, or a minute after its last call. For one task at a time.
#[derive(Debug)]
pub struct Session {
    client: Client,
    id: String,
}

impl Session {
    /// One that was opened before.
    pub fn new(client: Client, id: impl Into<String>) -> Self {
        Self {
            client,
            id: id.into(),
        }
    }

    /// Its id, with which any question of the contract can be asked about it through [`Client::call`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens another one, which begins with what this one is now.
    pub async fn fork(&self) -> Result<Self> {
        self.client.open_session(&self.id).await
    }

    /// Adds and removes objects in order: all of them, or none.
    pub async fn change(&self, changes: impl IntoIterator<Item = Change>) -> Result<v1::Session> {
        let changes = changes
            .into_iter()
            .map(|change| SessionChange {
                change: Some(change),
            })
            .collect();
        let request = ChangeSessionRequest {
            session: self.id.clone(),
            changes,
        };
        self.client
            .call(request)
            .await?
            .session
            .ok_or_else(Error::malformed)
    }

    /// As [`Client::schedule`]; what is reserved is on its node from then on.
    pub async fn schedule(
        &self,
        pods: &[Pods],
        mode: CommitMode,
        question: &Question,
    ) -> Result<Vec<Placement>> {
        self.client
            .schedule(pods, mode, &self.asked(question))
            .await
    }

    /// As [`Client::filter`].
    pub async fn filter(&self, pod: Pod, question: &Question) -> Result<Filtered> {
        self.client.filter(pod, &self.asked(question)).await
    }

    /// As [`Client::score`].
    pub async fn score(&self, pod: Pod, question: &Question) -> Result<Scored> {
        self.client.score(pod, &self.asked(question)).await
    }

    /// As [`Client::explain`].
    pub async fn explain(&self, pod: Pod, question: &Question) -> Result<Explanation> {
        self.client.explain(pod, &self.asked(question)).await
    }

    /// Remembers what it is now, to go back there. Marks nest.
    pub async fn mark(&self) -> Result<u32> {
        Ok(self
            .client
            .call(MarkSessionRequest {
                session: self.id.clone(),
            })
            .await?
            .mark)
    }

    /// Goes back to a mark, which is gone then; 0 = to what it was opened with.
    pub async fn revert(&self, mark: u32) -> Result<v1::Session> {
        let request = RevertSessionRequest {
            session: self.id.clone(),
            mark,
        };
        self.client
            .call(request)
            .await?
            .session
            .ok_or_else(Error::malformed)
    }

    /// Forgets a mark: what was done since stays.
    pub async fn commit(&self, mark: u32) -> Result<v1::Session> {
        let request = CommitSessionRequest {
            session: self.id.clone(),
            mark,
        };
        self.client
            .call(request)
            .await?
            .session
            .ok_or_else(Error::malformed)
    }

    /// Ends it.
    pub async fn close(self) -> Result<()> {
        self.client
            .call(CloseSessionRequest { session: self.id })
            .await?;
        Ok(())
    }

    fn asked(&self, question: &Question) -> Question {
        Question {
            session: self.id.clone(),
            ..question.clone()
        }
    }
}
