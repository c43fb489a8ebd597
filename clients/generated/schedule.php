<?php
// Prints the node for one pod: php schedule.php STUBS HOST:PORT
//
// With gRPC's PHP extension, Mooring\V1\SchedulingServiceClient calls. This program needs the curl extension alone: a gRPC
// call is a POST over HTTP/2 with five bytes before each message, a zero and the length.
use Mooring\V1\{KubernetesObject, PodSource, PodTemplate, ScheduleRequest, ScheduleResponse};

const POD = '{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}';

[, $stubs, $address] = $argv;
set_include_path($stubs . PATH_SEPARATOR . get_include_path());
spl_autoload_register(fn ($class) => require str_replace('\\', '/', $class) . '.php');

$pod = new PodSource(['object' => new KubernetesObject(['json' => POD])]);
$message = (new ScheduleRequest(['templates' => [new PodTemplate(['pod' => $pod])]]))->serializeToString();
$trailers = [];
$call = curl_init("http://$address/mooring.v1.SchedulingService/Schedule");
curl_setopt_array($call, [
    CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE,
    CURLOPT_HTTPHEADER => ['Content-Type: application/grpc', 'TE: trailers', 'grpc-timeout: 10S'],
    CURLOPT_POSTFIELDS => pack('xN', strlen($message)) . $message,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HEADERFUNCTION => function ($call, $line) use (&$trailers) {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $trailers[$name] = trim($value);
        return strlen($line);
    },
]);
$body = curl_exec($call);
if (($trailers['grpc-status'] ?? '') !== '0') {
    fwrite(STDERR, curl_error($call) . ($trailers['grpc-message'] ?? '') . "\n");
    exit(1);
}
$answer = new ScheduleResponse();
$answer->mergeFromString(substr($body, 5));
echo $answer->getNodes()->getNames()->getNames()[0], "\n";
