import java.io.IOException;
import java.util.Arrays;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;

/**
 * How long does ARX search for the best full-domain generalisation of a table, and what does it find?
 *
 * Arguments: how often to measure; then those of ArxTask. Prints a line: the best processor seconds of a search, the loss, the
 * records suppressed, and for each key NAME=LEVEL.
 *
 * Short searches are repeated and their mean is taken, because the clock ticks every 10 ms. It runs while ARX's anonymize does:
 * coding by the hierarchies, the search, its list of nodes. Reading the files, and with it the first coding of the values, comes
 * before; applying what was found comes after.
 */
public final class ArxRun {

    private static final double WARM_UP = 5.0;
    private static final double MEASURED = 0.2;

    private final ArxTask task;

    private ArxRun(ArxTask task) {
        this.task = task;
    }

    public static void main(String[] arguments) throws IOException {
        ArxRun run = new ArxRun(new ArxTask(Arrays.asList(arguments).subList(1, arguments.length)));
        run.searchedFor(WARM_UP);
        double best = Double.POSITIVE_INFINITY;
        for (int at = 0; at < Integer.parseInt(arguments[0]); at++) {
            best = Math.min(best, run.searchedFor(MEASURED));
        }
        System.out.println(best + " " + run.found());
    }

    /** Searches again and again until the seconds have passed, and returns the processor seconds of one search. */
    private double searchedFor(double seconds) throws IOException {
        double spent = 0.0;
        int searches = 0;
        while (spent < seconds) {
            ARXConfiguration wanted = task.wanted();
            double start = ArxTask.processorSeconds();
            ARXResult result = new ARXAnonymizer().anonymize(task.data, wanted);
            spent += ArxTask.processorSeconds() - start;
            searches++;
            result.getInput().release();
        }
        return spent / searches;
    }

    /** Searches once more, applies what is found, and says it. */
    private String found() throws IOException {
        return task.found(new ARXAnonymizer().anonymize(task.data, task.wanted()));
    }
}
