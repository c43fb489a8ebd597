# Prints the node for one pod: ruby -I STUBS schedule.rb HOST:PORT
require "mooring/v1/scheduling_service_services_pb"

include Mooring::V1

POD = '{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}'

stub = SchedulingService::Stub.new(ARGV[0], :this_channel_is_insecure)
pod = PodSource.new(object: KubernetesObject.new(json: POD))
request = ScheduleRequest.new(templates: [PodTemplate.new(pod: pod)])
answer = stub.schedule(request, deadline: Time.now + 10)
puts answer.nodes.names.names[0]
