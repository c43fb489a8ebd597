//! Serves the rules as a host: rules unix:PATH

mod plugins;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).expect("an address");
    mooring_client::plugin_host::serve(&address, "1", plugins::plugins()).await
}
