// Prints the node for one pod: java -cp CLASSPATH ScheduleKt HOST:PORT
import com.google.protobuf.ByteString
import dev.mooring.v1.SchedulingServiceGrpcKt.SchedulingServiceCoroutineStub
import dev.mooring.v1.KubernetesObject
import dev.mooring.v1.PodSource
import dev.mooring.v1.PodTemplate
import dev.mooring.v1.ScheduleRequest
import io.grpc.ManagedChannelBuilder
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.runBlocking

const val POD = """{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}"""

fun main(arguments: Array<String>) = runBlocking {
    val channel = ManagedChannelBuilder.forTarget(arguments[0]).usePlaintext().build()
    val stub = SchedulingServiceCoroutineStub(channel).withDeadlineAfter(10, TimeUnit.SECONDS)
    val pod = KubernetesObject.newBuilder().setJson(ByteString.copyFromUtf8(POD))
    val template = PodTemplate.newBuilder().setPod(PodSource.newBuilder().setObject(pod))
    val answer = stub.schedule(ScheduleRequest.newBuilder().addTemplates(template).build())
    println(answer.nodes.names.getNames(0))
    channel.shutdown()
    Unit
}
