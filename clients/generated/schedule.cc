// Prints the node for one pod: schedule HOST:PORT
#include <chrono>
#include <iostream>

#include <grpcpp/grpcpp.h>

#include "mooring/v1/scheduling_service.grpc.pb.h"

constexpr char kPod[] =
    R"({"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}})";

int main(int, char** arguments) {
  auto channel = grpc::CreateChannel(arguments[1], grpc::InsecureChannelCredentials());
  auto stub = mooring::v1::SchedulingService::NewStub(channel);
  mooring::v1::ScheduleRequest request;
  request.add_templates()->mutable_pod()->mutable_object()->set_json(kPod);
  mooring::v1::ScheduleResponse answer;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  auto status = stub->Schedule(&context, request, &answer);
  if (!status.ok()) {
    std::cerr << status.error_message() << std::endl;
    return 1;
  }
  std::cout << answer.nodes().names().names(0) << std::endl;
}
