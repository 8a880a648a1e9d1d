import java.io.File;
import java.io.IOException;
import java.util.Arrays;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.exceptions.RollbackRequiredException;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * How long does ARX's local recoding of a table take, and what does it give?
 *
 * Arguments: how often to measure; where to write the release; the share of the records that a round must serve; then those of
 * ArxTask, whose share is not used. Prints the best processor seconds of a recoding: the search of ARX's anonymize, applying it,
 * and all further rounds.
 *
 * Round by round at least that share of the records gets the generalisation that costs least, and leaves, until none is left. In
 * the quality model suppression costs nothing beyond generalisation, as in ARX's own examples, whose share is 0.01.
 */
public final class ArxLocal {

    private static final double WARM_UP = 5.0;

    private final ArxTask task;
    private final double share;

    private ArxLocal(ArxTask task, double share) {
        this.task = task;
        this.share = share;
    }

    public static void main(String[] arguments) throws IOException, RollbackRequiredException {
        ArxTask task = new ArxTask(Arrays.asList(arguments).subList(3, arguments.length));
        ArxLocal local = new ArxLocal(task, Double.parseDouble(arguments[2]));
        for (double spent = 0.0; spent < WARM_UP;) {
            spent += local.recoded(null);
        }
        double best = Double.POSITIVE_INFINITY;
        for (int at = 0; at < Integer.parseInt(arguments[0]); at++) {
            best = Math.min(best, local.recoded(arguments[1]));
        }
        System.out.println(best);
    }

    /** Recodes once, writes the release where a path is given, and returns the processor seconds that recoding took. */
    private double recoded(String path) throws IOException, RollbackRequiredException {
        ARXConfiguration wanted = task.wanted();
        wanted.setSuppressionLimit(1.0 - share);
        wanted.setQualityModel(Metric.createLossMetric(0.0, AggregateFunction.ARITHMETIC_MEAN));
        double start = ArxTask.processorSeconds();
        ARXResult result = new ARXAnonymizer().anonymize(task.data, wanted);
        DataHandle output = result.getOutput();
        result.optimizeIterativeFast(output, share);
        double spent = ArxTask.processorSeconds() - start;
        if (path != null) {
            output.save(new File(path), ';');
        }
        result.getInput().release();
        return spent;
    }
}
