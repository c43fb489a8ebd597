use std::any::Any;

use prost::Message;

use crate::v1::{
    BindRequest, CommitMode, ListReservationsRequest, ReserveRequest, ScheduleGroupsRequest,
    ScheduleRequest, UnreserveManyRequest, UnreserveRequest,
};

/// The request of a call with one answer.
pub trait Call: Message + Clone + 'static {
    /// The answer.
    type Response: Message + Default + 'static;
    /// The call, such as `/mooring.v1.PluginService/GetCapabilities`.
    const PATH: &'static str;
    /// Whether twice is the same as once.
    const IDEMPOTENT: bool;
}

/// The request of a call with many answers.
pub(crate) trait Streaming: Message + Clone + 'static {
    /// Each answer.
    type Response: Message + Default + 'static;
    /// The call.
    const PATH: &'static str;
}

/// Whether the leader alone makes such a call, or knows the answer.
pub(crate) fn commits<R: Call>(request: &R) -> bool {
    let any = request as &dyn Any;
    let (session, mode) = if let Some(schedule) = any.downcast_ref::<ScheduleRequest>() {
        (&schedule.session, schedule.commit_mode())
    } else if let Some(groups) = any.downcast_ref::<ScheduleGroupsRequest>() {
        (&groups.session, groups.commit_mode())
    } else {
        return any.is::<BindRequest>()
            || any.is::<ListReservationsRequest>()
            || any.is::<ReserveRequest>()
            || any.is::<UnreserveRequest>()
            || any.is::<UnreserveManyRequest>();
    };
    session.is_empty() && matches!(mode, CommitMode::Reserve | CommitMode::Bind)
}
