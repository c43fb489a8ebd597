//! Generates the messages of the contract, and says of each request which call it is for.

use std::env;
use std::error::Error;
use std::fs;

use prost_build::{Config, Method, Service, ServiceGenerator};
use prost_types::FileDescriptorSet;
use prost_types::method_options::IdempotencyLevel;

struct Calls;

impl ServiceGenerator for Calls {
    fn generate(&mut self, service: Service, code: &mut String) {
        for method in &service.methods {
            *code += &if method.server_streaming {
                streaming(&service, method)
            } else {
                call(&service, method)
            };
        }
    }
}

fn call(service: &Service, method: &Method) -> String {
    format!(
        "impl crate::Call for {} {{
            type Response = {};
            const PATH: &'static str = {:?};
            const IDEMPOTENT: bool = {};
        }}\n",
        method.input_type,
        method.output_type,
        path(service, method),
        method.options.idempotency_level() != IdempotencyLevel::IdempotencyUnknown,
    )
}

fn streaming(service: &Service, method: &Method) -> String {
    format!(
        "impl crate::call::Streaming for {} {{
            type Response = {};
            const PATH: &'static str = {:?};
        }}\n",
        method.input_type,
        method.output_type,
        path(service, method),
    )
}

fn path(service: &Service, method: &Method) -> String {
    format!(
        "/{}.{}/{}",
        service.package, service.proto_name, method.proto_name
    )
}

fn contract(folder: &str) -> Result<FileDescriptorSet, Box<dyn Error>> {
    println!("cargo:rerun-if-changed={folder}");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(file);
        }
    }
    Ok(protox::compile(files, ["protos"])?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let calls = contract("protos/mooring/v1")?;
    if env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        // A guest takes and returns messages, and calls nobody.
        Config::new().compile_fds(calls)?;
        return Ok(Config::new()
            .extern_path(".mooring.v1", "crate::v1")
            .compile_fds(contract("protos/mooring/plugin_host/v1")?)?);
    }
    Config::new()
        .service_generator(Box::new(Calls))
        .compile_fds(calls)?;
    #[cfg(feature = "plugin-host")]
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .extern_path(".mooring.v1", "crate::v1")
        .compile_fds(contract("protos/mooring/plugin_host/v1")?)?;
    Ok(())
}
