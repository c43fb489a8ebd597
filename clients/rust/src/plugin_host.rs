//! Serves plugins that mooring calls: write `filter` and `score` over named values. Feature `plugin-host`.
//!
//! ```no_run
//! use mooring_client::plugin_host::{Plugin, Rule, serve};
//!
//! const RACK: &str = "metadata.labels[example.com/rack]";
//! const WANTED: &str = "metadata.annotations[example.com/rack]";
//!
//! # async fn example() -> std::io::Result<()> {
//! let rack = Plugin::new("Rack", |_arguments| {
//!     Ok(Rule::new().score(|pod, node| {
//!         if pod.has(WANTED) && pod.text(WANTED) == node.text(RACK) { 100 } else { 0 }
//!     }))
//! });
//! let rack = rack.pod_fields([WANTED]).node_columns([RACK]);
//! serve("unix:/run/rack/host.sock", "1.0", [rack]).await
//! # }
//! ```

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use serde_json::Value;

use crate::v1::{Verdict, VerdictCode};
use v1::{
    ActRequest, ConfigureRequest, ConfigureResponse, DescribeResponse, EvaluateRequest,
    EvaluateResponse, PluginDescription, configure_response::ArgumentFault,
};
#[cfg(not(target_family = "wasm"))]
use v1::{ActResponse, MeasureRequest, MeasureResponse};

#[doc(hidden)]
pub mod guest;
#[cfg(not(target_family = "wasm"))]
mod serving;

/// The messages of the contract, as prost has them.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/mooring.plugin_host.v1.rs"));
}

#[cfg(not(target_family = "wasm"))]
pub use serving::serve;
pub use v1::{MeasurementDescription, Normalizer};

type New = dyn Fn(&Value) -> Result<Rule, ArgumentError> + Send + Sync;
type Filter = dyn Fn(&Values, &Values) -> Option<Rejection> + Send + Sync;
type Score = dyn Fn(&Values, &Values) -> i64 + Send + Sync;
type Act = dyn Fn(&ActRequest) -> Option<Rejection> + Send + Sync;
type Permit = dyn Fn(&ActRequest) -> Permission + Send + Sync;
type Measure = dyn Fn(&str) -> HashMap<String, i64> + Send + Sync;

/// Declares what a plugin reads, and makes a rule for each profile that names it.
pub struct Plugin {
    described: PluginDescription,
    new: Box<New>,
}

impl Plugin {
    /// Returns a plugin called `name` in PascalCase. `new` makes a rule of the arguments, which are null without any, and
    /// is called once with null to find its points.
    pub fn new(
        name: &str,
        new: impl Fn(&Value) -> Result<Rule, ArgumentError> + Send + Sync + 'static,
    ) -> Self {
        let described = PluginDescription {
            name: name.into(),
            ..Default::default()
        };
        Self {
            described,
            new: Box::new(new),
        }
    }

    /// Declares the values that it reads of the pod, such as `metadata.labels[app]` or `requests[cpu]`.
    pub fn pod_fields<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.described.pod_fields = names.into_iter().map(Into::into).collect();
        self
    }

    /// Declares the values that it reads of a node, such as `metadata.labels[rack]` or `requested[cpu]`.
    pub fn node_columns<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.described.node_columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Brings raw scores to 0..=100. Without it they are 0 to 100.
    pub fn normalizer(mut self, normalizer: Normalizer) -> Self {
        self.described.normalizer = normalizer.into();
        self
    }

    /// Declares a value of nodes that its rule measures.
    pub fn measurement(mut self, measurement: MeasurementDescription) -> Self {
        self.described.measurements.push(measurement);
        self
    }
}

/// A function for each point of a plugin. They are called from several threads. `filter` and `score` are pure functions of
/// their arguments: mooring asks once about each combination of values.
#[derive(Default)]
pub struct Rule {
    filter: Option<Box<Filter>>,
    score: Option<Box<Score>>,
    reserve: Option<(Box<Act>, Box<Act>)>,
    permit: Option<Box<Permit>>,
    pre_bind: Option<Box<Act>>,
    post_bind: Option<Box<Act>>,
    measure: Option<Box<Measure>>,
}

impl Rule {
    /// Returns a rule that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves Filter: `filter(pod, node)` returns why the node can't take the pod, or None.
    pub fn filter(
        mut self,
        filter: impl Fn(&Values, &Values) -> Option<Rejection> + Send + Sync + 'static,
    ) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Serves Score: `score(pod, node)` returns the score of the node.
    pub fn score(
        mut self,
        score: impl Fn(&Values, &Values) -> i64 + Send + Sync + 'static,
    ) -> Self {
        self.score = Some(Box::new(score));
        self
    }

    /// Serves Reserve: `reserve` keeps what the pod needs. `unreserve` gives it back, also if it was never kept.
    pub fn reserve(
        mut self,
        reserve: impl Fn(&ActRequest) -> Option<Rejection> + Send + Sync + 'static,
        unreserve: impl Fn(&ActRequest) + Send + Sync + 'static,
    ) -> Self {
        self.reserve = Some((Box::new(reserve), silent(unreserve)));
        self
    }

    /// Serves Permit.
    pub fn permit(
        mut self,
        permit: impl Fn(&ActRequest) -> Permission + Send + Sync + 'static,
    ) -> Self {
        self.permit = Some(Box::new(permit));
        self
    }

    /// Serves PreBind: `pre_bind` does what has to be done before the binding.
    pub fn pre_bind(
        mut self,
        pre_bind: impl Fn(&ActRequest) -> Option<Rejection> + Send + Sync + 'static,
    ) -> Self {
        self.pre_bind = Some(Box::new(pre_bind));
        self
    }

    /// Serves PostBind: `post_bind` is called after the binding.
    pub fn post_bind(mut self, post_bind: impl Fn(&ActRequest) + Send + Sync + 'static) -> Self {
        self.post_bind = Some(silent(post_bind));
        self
    }

    /// Measures: `measure(name)` returns the values of nodes, by their names.
    pub fn measure(
        mut self,
        measure: impl Fn(&str) -> HashMap<String, i64> + Send + Sync + 'static,
    ) -> Self {
        self.measure = Some(Box::new(measure));
        self
    }

    fn points(&self) -> Vec<String> {
        let served = [
            ("filter", self.filter.is_some()),
            ("score", self.score.is_some()),
            ("reserve", self.reserve.is_some()),
            ("permit", self.permit.is_some()),
            ("preBind", self.pre_bind.is_some()),
            ("postBind", self.post_bind.is_some()),
        ];
        served
            .iter()
            .filter(|(_, has)| *has)
            .map(|(point, _)| point.to_string())
            .collect()
    }

    #[cfg(not(target_family = "wasm"))]
    fn act(&self, request: &ActRequest) -> Permission {
        let act = match request.point.as_str() {
            "permit" => {
                return self
                    .permit
                    .as_ref()
                    .map_or(Permission::Granted, |permit| permit(request));
            }
            "reserve" => self.reserve.as_ref().map(|both| &both.0),
            "unreserve" => self.reserve.as_ref().map(|both| &both.1),
            "preBind" => self.pre_bind.as_ref(),
            "postBind" => self.post_bind.as_ref(),
            _ => None,
        };
        act.and_then(|act| act(request))
            .map_or(Permission::Granted, Permission::Denied)
    }
}

fn silent(act: impl Fn(&ActRequest) + Send + Sync + 'static) -> Box<Act> {
    Box::new(move |request| {
        act(request);
        None
    })
}

/// A "no". Removing pods from the node may help, unless it is unresolvable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rejection {
    /// The reason, such as "node(s) had no free slot".
    pub reason: String,
    /// Whether removing pods does not help.
    pub unresolvable: bool,
}

impl Rejection {
    /// Returns a rejection that removing pods may undo.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            unresolvable: false,
        }
    }

    /// Returns a rejection that removing pods does not undo.
    pub fn unresolvable(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            unresolvable: true,
        }
    }

    fn verdict(&self) -> Verdict {
        let code = if self.unresolvable {
            VerdictCode::UnschedulableAndUnresolvable
        } else {
            VerdictCode::Unschedulable
        };
        Verdict {
            code: code.into(),
            reasons: vec![self.reason.clone()],
            ..Default::default()
        }
    }
}

/// The answer at Permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The pod goes on.
    Granted,
    /// It waits for so long at most.
    Wait(Duration),
    /// It is rejected.
    Denied(Rejection),
}

/// Tells which argument is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The argument's path.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl ArgumentError {
    /// Returns the error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// The values of a pod, or of nodes with one combination of values.
#[derive(Debug)]
pub struct Values<'a> {
    names: &'a [String],
    values: &'a dyn Source,
    at: usize,
}

impl Values<'_> {
    /// Returns a text; "" without one. Panics if the name was not declared.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            One::Text(text) => text,
            _ => "",
        }
    }

    /// Returns a number; 0 without one. Panics if the name was not declared.
    pub fn number(&self, name: &str) -> i64 {
        match self.value(name) {
            One::Number(number) => number,
            _ => 0,
        }
    }

    /// Returns whether there is a value. Panics if the name was not declared.
    pub fn has(&self, name: &str) -> bool {
        !matches!(self.value(name), One::Nothing)
    }

    fn value(&self, name: &str) -> One<'_> {
        let column = self.names.iter().position(|each| each == name);
        let column = column.unwrap_or_else(|| panic!("{name:?} is not declared"));
        self.values.value(column, self.at)
    }
}

enum One<'a> {
    Nothing,
    Text(&'a str),
    Number(i64),
}

trait Source: Debug + Sync {
    fn value(&self, column: usize, at: usize) -> One<'_>;
}

impl Source for Vec<v1::PodValue> {
    fn value(&self, column: usize, _at: usize) -> One<'_> {
        match &self[column].value {
            Some(v1::pod_value::Value::Text(text)) => One::Text(text),
            Some(v1::pod_value::Value::Number(number)) => One::Number(*number),
            None => One::Nothing,
        }
    }
}

impl Source for Vec<v1::Column> {
    fn value(&self, column: usize, at: usize) -> One<'_> {
        let column = &self[column];
        match column.texts.get(at) {
            Some(0) => One::Nothing,
            Some(number) => One::Text(&column.dictionary[*number as usize - 1]),
            None if column.absent.get(at) == Some(&1) => One::Nothing,
            None => One::Number(column.numbers[at]),
        }
    }
}

/// Values for tests of `filter` and `score`: `TestValues::new().text("metadata.name", "n1").values()`.
#[derive(Debug, Default)]
pub struct TestValues {
    names: Vec<String>,
    values: Vec<v1::PodValue>,
}

impl TestValues {
    /// Returns no values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text.
    pub fn text(self, name: &str, text: &str) -> Self {
        self.with(name, Some(v1::pod_value::Value::Text(text.into())))
    }

    /// Adds a number.
    pub fn number(self, name: &str, number: i64) -> Self {
        self.with(name, Some(v1::pod_value::Value::Number(number)))
    }

    /// Adds a declared name without a value.
    pub fn absent(self, name: &str) -> Self {
        self.with(name, None)
    }

    fn with(mut self, name: &str, value: Option<v1::pod_value::Value>) -> Self {
        self.names.push(name.into());
        self.values.push(v1::PodValue { value });
        self
    }

    /// Returns them as a rule gets them.
    pub fn values(&self) -> Values<'_> {
        Values {
            names: &self.names,
            values: &self.values,
            at: 0,
        }
    }
}

struct Instance {
    plugin: Arc<Plugin>,
    rule: Rule,
}

#[cfg(not(target_family = "wasm"))]
impl Instance {
    fn measure(&self, request: &MeasureRequest) -> MeasureResponse {
        let measure = self.rule.measure.as_ref();
        let values = measure.map_or_else(HashMap::new, |measure| measure(&request.name));
        MeasureResponse { values }
    }

    fn act(&self, request: &ActRequest) -> ActResponse {
        let coded = |code: VerdictCode| Verdict {
            code: code.into(),
            ..Default::default()
        };
        let mut answer = ActResponse::default();
        answer.verdict = Some(match self.rule.act(request) {
            Permission::Granted => coded(VerdictCode::Success),
            Permission::Denied(no) => no.verdict(),
            Permission::Wait(time) => {
                answer.wait = time.try_into().ok();
                coded(VerdictCode::Wait)
            }
        });
        answer
    }
}

/// The call is about another start of the host, or about an instance that it does not have.
#[derive(Debug)]
struct AnotherStart;

const ANOTHER_START: &str = "another start of the host is meant";

/// Answers the calls of the contract, however they arrive.
struct Host {
    described: DescribeResponse,
    plugins: HashMap<String, Arc<Plugin>>,
    instances: RwLock<Vec<Arc<Instance>>>,
}

impl Host {
    fn new(
        id: String,
        version: &str,
        plugins: impl IntoIterator<Item = Plugin>,
    ) -> Result<Self, String> {
        let mut described = DescribeResponse {
            host_id: id,
            host_version: version.into(),
            ..Default::default()
        };
        let mut by_name = HashMap::new();
        for mut plugin in plugins {
            let name = plugin.described.name.clone();
            let rule = (plugin.new)(&Value::Null)
                .map_err(|error| format!("{name} without arguments: {error:?}"))?;
            plugin.described.points = rule.points();
            described.plugins.push(plugin.described.clone());
            by_name.insert(name, Arc::new(plugin));
        }
        Ok(Self {
            described,
            plugins: by_name,
            instances: RwLock::default(),
        })
    }

    fn instance(&self, host_id: &str, number: u32) -> Result<Arc<Instance>, AnotherStart> {
        let instances = self.instances.read().expect("no holder panics");
        let found = (number as usize)
            .checked_sub(1)
            .and_then(|at| instances.get(at));
        found
            .filter(|_| host_id == self.described.host_id)
            .cloned()
            .ok_or(AnotherStart)
    }

    fn configure(&self, request: &ConfigureRequest) -> Result<ConfigureResponse, AnotherStart> {
        let plugin = self
            .plugins
            .get(&request.plugin)
            .filter(|_| request.host_id == self.described.host_id)
            .ok_or(AnotherStart)?;
        let made = serde_json::from_str(&request.args_json)
            .map_err(|error| ArgumentError::new("", error.to_string()))
            .and_then(|arguments| (plugin.new)(&arguments));
        let mut answer = ConfigureResponse::default();
        match made {
            Ok(rule) => {
                let plugin = plugin.clone();
                let mut instances = self.instances.write().expect("no holder panics");
                instances.push(Arc::new(Instance { plugin, rule }));
                answer.instance = instances.len() as u32;
            }
            Err(ArgumentError { field, message }) => {
                answer.faults.push(ArgumentFault { field, message });
            }
        }
        Ok(answer)
    }

    fn evaluate(&self, request: &EvaluateRequest) -> Result<EvaluateResponse, AnotherStart> {
        let found = self.instance(&request.host_id, request.instance)?;
        Ok(evaluated(&found, request))
    }
}

fn evaluated(found: &Instance, request: &EvaluateRequest) -> EvaluateResponse {
    let described = &found.plugin.described;
    let pod = Values {
        names: &described.pod_fields,
        values: &request.pod,
        at: 0,
    };
    let nodes = (0..request.combinations as usize).map(|at| Values {
        names: &described.node_columns,
        values: &request.columns,
        at,
    });
    let mut answer = EvaluateResponse {
        host_id: request.host_id.clone(),
        question: request.question,
        ..Default::default()
    };
    let mut numbers = HashMap::new();
    let mut scores = Vec::with_capacity(request.combinations as usize);
    for node in nodes {
        let no = found
            .rule
            .filter
            .as_ref()
            .and_then(|filter| filter(&pod, &node));
        let score = match (&no, &found.rule.score) {
            (None, Some(score)) => score(&pod, &node),
            _ => 0,
        };
        scores.push(score);
        answer.verdicts.push(no.map_or(0, |no| {
            let next = numbers.len() as u8 + 1;
            *numbers.entry(no).or_insert_with_key(|no| {
                answer.rejections.push(no.verdict());
                next
            })
        }));
    }
    if found.rule.score.is_none() {
        return answer;
    }
    if described.normalizer() == Normalizer::Unspecified {
        // 255 is rejected, as any other score that is out of range should be.
        answer.scores = scores
            .into_iter()
            .map(|score| u8::try_from(score).unwrap_or(u8::MAX))
            .collect();
    } else {
        answer.raw_scores = scores;
    }
    answer
}
