// Prints the node for one pod: Schedule.exe http://HOST:PORT, the address of `mooring web`.
//
// With Grpc.Net.Client, new SchedulingService.SchedulingServiceClient(channel).Schedule(request) calls the server itself.
// This program needs Google.Protobuf alone: the page's gateway takes the same messages as JSON.
using System;
using System.Net;
using Google.Protobuf;
using Mooring.V1;

static class Program
{
    const string Pod =
        @"{""metadata"": {""name"": ""web"", ""namespace"": ""default""}, ""spec"": {""containers"": [{""name"": ""web""}]}}";

    static void Main(string[] arguments)
    {
        var pod = new PodSource { Object = new KubernetesObject { Json = ByteString.CopyFromUtf8(Pod) } };
        var request = new ScheduleRequest { Templates = { new PodTemplate { Pod = pod } } };
        var client = new WebClient { Headers = { { "Content-Type", "application/json" } } };
        var url = arguments[0] + "/api/v1/mooring.v1.SchedulingService/Schedule";
        var json = client.UploadString(url, JsonFormatter.Default.Format(request));
        var answer = ScheduleResponse.Parser.ParseJson(json);
        Console.WriteLine(answer.Nodes.Names.Names[0]);
    }
}
