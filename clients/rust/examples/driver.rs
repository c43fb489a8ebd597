//! Plays the contract suite. clients/contract/README.md has its commands.

use std::error::Error;
use std::io::{self, BufRead};
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use mooring_client::v1::session_change::Change;
use mooring_client::v1::{
    self, CommitMode, CommitOutcome, GetCapabilitiesRequest, KubernetesObject, PodReference,
    PutObjects, RemoveObject, Verdict,
};
use mooring_client::{
    Certificate, Client, ClientTlsConfig, Identity, Options, Pod, Pods, Question, Session,
};
use serde_json::{Map, Value, json};

type Said = Result<Value, Box<mooring_client::Error>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = connect(std::env::args().skip(1))?;
    for line in io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let said = match answer(&client.with_timeout(timeout(&command)), &command).await {
            Ok(result) => json!({ "result": result }),
            Err(error) => json!({ "error": error_of(&error) }),
        };
        println!("{said}");
    }
    Ok(())
}

fn connect(mut arguments: impl Iterator<Item = String>) -> Result<Client, Box<dyn Error>> {
    let mut options = Options::default();
    let (mut tls, mut certificate, mut target) = (ClientTlsConfig::new(), None, String::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} has no value"));
        match argument.as_str() {
            "--ca" => {
                tls = tls.ca_certificate(Certificate::from_pem(std::fs::read(value()?)?));
                options.tls = Some(tls.clone());
            }
            "--cert" => certificate = Some(std::fs::read(value()?)?),
            "--key" => {
                let certificate = certificate.take().ok_or("--key before --cert")?;
                tls = tls.identity(Identity::from_pem(certificate, std::fs::read(value()?)?));
                options.tls = Some(tls.clone());
            }
            "--max-message-bytes" => options.max_message_bytes = value()?.parse()?,
            _ => target = argument,
        }
    }
    Ok(Client::new(&target, options)?)
}

async fn answer(client: &Client, command: &Value) -> Said {
    let text = |key: &str| text(&command[key]);
    let session = || Session::new(client.clone(), text("session"));
    let mark = command["mark"].as_u64().unwrap_or_default() as u32;
    let question = Question {
        among: command["among"]
            .as_array()
            .map(|_| texts(&command["among"])),
        profile: text("profile"),
        seed: command["seed"].as_u64().unwrap_or_default(),
        session: text("session"),
        in_parts: command["parts"].as_bool().unwrap_or_default(),
    };
    Ok(match text("call").as_str() {
        "schedule" => schedule(client, command, &question).await?,
        "reserve" => {
            let answer = client
                .reserve(pod(&command["pod"]), &text("node"), &text("profile"))
                .await?;
            json!({ "verdict": verdict(&answer.verdict), "outcome": outcome(answer.outcome) })
        }
        "unreserve" => {
            let pods = command["pods"].as_array().into_iter().flatten();
            let ended = client.unreserve(pods.map(|pod| reference(pod).uid)).await?;
            let released = ended
                .into_iter()
                .filter(|pod| pod.released)
                .map(|pod| pod.uid);
            json!({ "released": released.collect::<Vec<_>>() })
        }
        "list_reservations" => {
            let reservations = client.list_reservations().await?.into_iter();
            reservations
                .map(|each| told(each.pod, json!({ "node": each.node })))
                .collect()
        }
        "list_nodes" => {
            let nodes = client.list_nodes(&text("labels")).await?;
            json!({ "epoch": nodes.epoch, "nodes": nodes.added })
        }
        "watch_nodes" => watch_nodes(client, command).await?,
        "watch_decisions" => watch_decisions(client, command).await?,
        "filter" => {
            let answer = client.filter(pod(&command["pod"]), &question).await?;
            let nodes = answer
                .nodes
                .iter()
                .map(|(node, each)| (node.clone(), verdict(each)));
            json!({ "verdict": verdict(&answer.verdict), "nodes": nodes.collect::<Map<_, _>>() })
        }
        "score" => {
            let answer = client.score(pod(&command["pod"]), &question).await?;
            json!({ "weight_sum": answer.weight_sum, "nodes": answer.nodes.into_iter().collect::<std::collections::HashMap<_, _>>() })
        }
        "explain" => explain(client, command, &question).await?,
        "bind" => {
            let pod = reference(&command["pod"]);
            let bound = client.bind(pod, &text("node"), &text("profile")).await?;
            json!({ "outcome": outcome(bound) })
        }
        "open_session" => json!({ "session": client.open_session(&text("from")).await?.id() }),
        "change_session" => state(session().change(changes(command)).await?),
        "mark_session" => json!({ "mark": session().mark().await? }),
        "revert_session" => state(session().revert(mark).await?),
        "commit_session" => state(session().commit(mark).await?),
        "close_session" => {
            session().close().await?;
            json!({})
        }
        "capabilities" => {
            let answer = client.call(GetCapabilitiesRequest {}).await?;
            let modes: Vec<_> = answer
                .commit_modes()
                .map(|mode| name(mode.as_str_name(), "COMMIT_MODE_"))
                .collect();
            let classes: Vec<_> = answer
                .contract_classes()
                .map(|class| name(class.as_str_name(), "CONTRACT_CLASS_"))
                .collect();
            json!({
                "contract_revision": answer.contract_revision,
                "contract_classes": classes,
                "commit_modes": modes,
            })
        }
        unknown => panic!("no call {unknown}"),
    })
}

async fn schedule(client: &Client, command: &Value, question: &Question) -> Said {
    let mode = match command["mode"].as_str() {
        None => CommitMode::DryRun,
        Some(mode) => {
            CommitMode::from_str_name(&format!("COMMIT_MODE_{mode}")).expect("a known mode")
        }
    };
    let groups = command["pods"].as_array().into_iter().flatten();
    let groups: Vec<Pods> = groups
        .map(|group| Pods {
            template: pod(&group["template"]),
            uids: texts(&group["uids"]),
            names: texts(&group["names"]),
        })
        .collect();
    let placements = client
        .schedule(&groups, mode, question)
        .await?
        .into_iter()
        .map(|each| {
            json!({
                "uid": each.uid,
                "node": each.node.unwrap_or_default(),
                "total": each.total,
                "verdict": verdict(&each.verdict),
                "outcome": outcome(each.outcome),
            })
        });
    Ok(placements.collect())
}

async fn explain(client: &Client, command: &Value, question: &Question) -> Said {
    let answer = client.explain(pod(&command["pod"]), question).await?;
    let nodes = answer.nodes.iter().map(|node| {
        let scores = node.scores.iter().map(|score| {
            let columns = json!({ "raw": score.raw, "normalized": score.normalized, "weighted": score.weighted });
            (score.plugin.clone(), columns)
        });
        let scores: Map<_, _> = scores.collect();
        (node.name.clone(), json!({ "verdict": verdict(&node.verdict), "total": node.total, "scores": scores }))
    });
    let nodes: Map<_, _> = nodes.collect();
    Ok(
        json!({ "verdict": verdict(&answer.verdict), "node": answer.node.unwrap_or_default(), "nodes": nodes }),
    )
}

async fn watch_nodes(client: &Client, command: &Value) -> Said {
    let mut updates = pin!(client.watch_nodes(Some(timeout(command))));
    let mut taken = Vec::new();
    while taken.len() < count(&command["updates"]) {
        let update = updates.next().await.expect("it has no end")?;
        taken.push(json!({
            "epoch": update.epoch,
            "complete": update.complete,
            "added": update.added,
            "removed": update.removed,
        }));
    }
    Ok(taken.into())
}

async fn watch_decisions(client: &Client, command: &Value) -> Said {
    let after = command["after"].as_u64();
    let mut answers = pin!(client.watch_decisions(None, after, Some(timeout(command))));
    let mut taken = Vec::new();
    while taken.len() < count(&command["updates"]) {
        for each in answers.next().await.expect("it has no end")?.decisions {
            let pod = told(each.pod, json!({}));
            taken.push(json!({ "seq": each.seq, "pod": pod, "node": each.node }));
        }
    }
    taken.truncate(count(&command["updates"]));
    Ok(taken.into())
}

fn timeout(command: &Value) -> Duration {
    Duration::from_secs_f64(
        command["timeout"]
            .as_f64()
            .expect("a command has a timeout"),
    )
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

fn outcome(outcome: CommitOutcome) -> &'static str {
    name(outcome.as_str_name(), "COMMIT_OUTCOME_")
}

/// An object with a reference's fields.
fn told(pod: Option<PodReference>, mut object: Value) -> Value {
    let PodReference {
        namespace,
        name,
        uid,
    } = pod.unwrap_or_default();
    for (key, value) in [("namespace", namespace), ("name", name), ("uid", uid)] {
        object[key] = value.into();
    }
    object
}

fn pod(value: &Value) -> Pod {
    if value["metadata"].is_null() {
        Pod::Known(reference(value))
    } else {
        Pod::Json(value.to_string())
    }
}

fn reference(value: &Value) -> PodReference {
    PodReference {
        namespace: text(&value["namespace"]),
        name: text(&value["name"]),
        uid: text(&value["uid"]),
    }
}

fn changes(command: &Value) -> Vec<Change> {
    let put = command["put"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|object| {
            let encoding = Some(v1::kubernetes_object::Encoding::Json(
                object.to_string().into(),
            ));
            Change::Put(PutObjects {
                objects: vec![KubernetesObject { encoding }],
                ..Default::default()
            })
        });
    let remove = command["remove"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|object| {
            Change::Remove(RemoveObject {
                kind: text(&object["kind"]),
                namespace: text(&object["namespace"]),
                name: text(&object["name"]),
                ..Default::default()
            })
        });
    put.chain(remove).collect()
}

fn verdict(verdict: &Verdict) -> Value {
    let Verdict {
        plugin,
        reasons,
        message,
        ..
    } = verdict;
    json!({ "code": name(verdict.code().as_str_name(), "VERDICT_CODE_"), "plugin": plugin, "reasons": reasons, "message": message })
}

fn state(session: v1::Session) -> Value {
    json!({ "change_count": session.change_count, "node_count": session.node_count, "pod_count": session.pod_count })
}

fn error_of(error: &mooring_client::Error) -> Value {
    let fields = error.field_violations.iter();
    let fields: Vec<_> = fields
        .map(|each| json!({ "field": each.field, "description": each.description }))
        .collect();
    json!({
        "code": code(error.code),
        "reason": reason_of(error),
        "message": error.message,
        "metadata": error.metadata,
        "fields": fields,
        "repeat": error.repeatable,
    })
}

/// The name of the reason, or its number if this client does not know it.
fn reason_of(error: &mooring_client::Error) -> String {
    let known = error
        .reason
        .map_or("", |reason| name(reason.as_str_name(), "ERROR_REASON_"));
    match (known, error.reason_number) {
        ("", 1..) => error.reason_number.to_string(),
        _ => known.to_owned(),
    }
}

/// gRPC's name of a code, such as `NOT_FOUND`.
fn code(code: mooring_client::Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// The name of an enum's value without the enum's name; "" for the zero value.
fn name<'a>(name: &'a str, prefix: &str) -> &'a str {
    name.strip_prefix(prefix)
        .filter(|name| *name != "UNSPECIFIED")
        .unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}
