import java.io.IOException;
import java.util.Arrays;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.ARXResult;

/**
 * What does one of ARX's heuristic searches find within a time limit?
 *
 * Arguments: the name of the algorithm, as in BEST_EFFORT_GENETIC; the limits in wall seconds, with commas; then those of ArxTask.
 * Prints a line for each limit: the wall seconds of the search, the loss, the records suppressed, and for each key NAME=LEVEL;
 * or the seconds and "none" where it found nothing.
 *
 * The first search is to warm the Java machine up, and does not count. The genetic algorithm goes on until the limit; all its
 * other settings are ARX's own. The binary one may search lattices of any size that it can.
 */
public final class ArxHeuristics {

    private static final int WARM_UP = 3;

    private ArxHeuristics() {
    }

    public static void main(String[] arguments) throws IOException {
        AnonymizationAlgorithm algorithm = AnonymizationAlgorithm.valueOf(arguments[0]);
        ArxTask task = new ArxTask(Arrays.asList(arguments).subList(2, arguments.length));
        searched(task, algorithm, WARM_UP);
        for (String limit : arguments[1].split(",")) {
            System.out.println(searched(task, algorithm, Integer.parseInt(limit)));
        }
    }

    private static String searched(ArxTask task, AnonymizationAlgorithm algorithm, int seconds) throws IOException {
        ARXConfiguration wanted = task.wanted();
        wanted.setAlgorithm(algorithm);
        wanted.setHeuristicSearchThreshold(Integer.MAX_VALUE);
        wanted.setHeuristicSearchTimeLimit(1000 * seconds);
        wanted.setGeneticAlgorithmIterations(Integer.MAX_VALUE);
        long start = System.nanoTime();
        ARXResult result = new ARXAnonymizer().anonymize(task.data, wanted);
        String took = (System.nanoTime() - start) / 1e9 + " ";
        String found = took + (result.getGlobalOptimum() == null ? "none" : task.found(result));
        result.getInput().release();
        return found;
    }
}
