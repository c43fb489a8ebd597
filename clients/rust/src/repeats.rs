use std::time::Duration;

use tonic::Code;

use crate::v1::ErrorReason;

/// What a client does about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Repeats it: nothing was done.
    Always,
    /// Repeats it if twice is the same as once.
    Idempotent,
    /// Repeats it at the leader.
    Leader,
    /// Lists the nodes, translates, and repeats it.
    Refresh,
    /// Reads the list from the beginning.
    List,
    /// Fails.
    Never,
}

impl Rule {
    pub(crate) fn of(reason: Option<ErrorReason>, code: Code) -> Self {
        use ErrorReason as R;
        match reason {
            // Cancelled: a proxy, or a server that ends, has reset the stream.
            None if matches!(code, Code::Unavailable | Code::Cancelled) => Self::Idempotent,
            Some(
                R::NotSynced
                | R::Overloaded
                | R::StateStale
                | R::WorkersAbandoned
                | R::AuditUnwritable,
            ) => Self::Always,
            Some(
                R::ApiServerUnavailable | R::Draining | R::ObjectChanged | R::PluginUnavailable,
            ) => Self::Idempotent,
            Some(R::NotLeader) => Self::Leader,
            Some(R::NodeEpochStale) => Self::Refresh,
            Some(R::PageTokenStale) => Self::List,
            _ => Self::Never,
        }
    }
}

/// How long to wait before the repeat of that number, counted from 0.
pub(crate) fn pause(repeat: u32) -> Duration {
    let longest = Duration::from_millis(50 << repeat.min(5)).min(Duration::from_secs(1));
    longest.mul_f64(1.0 - fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    /// The suite's file says of each reason what a client does.
    #[test]
    fn the_rule_is_that_of_the_contract_suite() {
        let file = fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../contract/repeats.json"
        ))
        .expect("the file");
        let expected: BTreeMap<String, String> = serde_json::from_str(&file).expect("an object");
        let reasons = (1..).map_while(|number| ErrorReason::try_from(number).ok());
        let rules = reasons.map(|reason| {
            let name = reason.as_str_name().trim_start_matches("ERROR_REASON_");
            (
                name.to_owned(),
                format!("{:?}", Rule::of(Some(reason), Code::Unavailable)).to_lowercase(),
            )
        });
        assert_eq!(rules.collect::<BTreeMap<_, _>>(), expected);
    }

    #[test]
    fn without_a_reason_only_a_lost_connection_or_stream_is_repeated() {
        for code in (0..17).map(Code::from_i32) {
            let expected = if matches!(code, Code::Unavailable | Code::Cancelled) {
                Rule::Idempotent
            } else {
                Rule::Never
            };
            assert_eq!(Rule::of(None, code), expected, "{code:?}");
        }
    }

    #[test]
    fn pauses_grow_to_a_second_and_half_of_each_is_by_chance() {
        for (repeat, longest) in (0..).zip([50, 100, 200, 400, 800, 1000, 1000, 1000]) {
            let longest = Duration::from_millis(longest);
            for _ in 0..100 {
                let pause = pause(repeat);
                assert!(
                    longest / 2 <= pause && pause <= longest,
                    "{pause:?} after {repeat}"
                );
            }
        }
    }
}
