use mooring_client::{Client, CommitMode, Options, Pod, Pods, Question};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:50051".into());
    let client = Client::new(&address, Options::default())?;
    let web = r#"{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web"}]}}"#;
    let pods = [Pods::new(Pod::Json(web.into()), ["web-1", "web-2"])];
    let all = Question::default();
    let placements = client.schedule(&pods, CommitMode::DryRun, &all).await?;
    for each in placements {
        println!("{} {}", each.uid, each.node.unwrap_or(each.verdict.message));
    }
    Ok(())
}
