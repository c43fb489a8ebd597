//! Serves the plugin $name: $distribution unix:PATH

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).expect("an address");
    mooring_client::plugin_host::serve(&address, "0.1.0", [$module::plugin::plugin()]).await
}
