import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataDefinition;
import org.deidentifier.arx.criteria.EntropyLDiversity;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.HierarchicalDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.criteria.PrivacyCriterion;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * How long does ARX search for the best full-domain generalisation of a table, and what does it find?
 *
 * Arguments: how often to measure; the table; the start of the hierarchies' paths, to which "NAME.csv" is added; the key
 * attributes, with commas; the share of records that may be suppressed; each requirement: k:5, entropy-l:ATTRIBUTE:3,
 * equal-t:ATTRIBUTE:0.2 or hierarchical-t:ATTRIBUTE:0.2. All files have semicolons.
 *
 * Prints a line: the best processor seconds of a search, the loss, the records suppressed, and for each key NAME=LEVEL.
 *
 * The clock is that of the whole process, so that the threads that collect garbage and compile count. It ticks every 10 ms:
 * short searches are repeated and their mean is taken. It runs while ARX's anonymize does: coding by the hierarchies, the
 * search, its list of nodes. Reading the files, and with it the first coding of the values, comes before; applying what was
 * found comes after.
 */
public final class ArxRun {

    private static final double WARM_UP = 5.0;
    private static final double MEASURED = 0.2;

    private final Data data;
    private final String hierarchies;
    private final List<String> keys;
    private final double suppression;
    private final List<String> requirements;

    private ArxRun(String[] arguments) throws IOException {
        data = Data.create(new File(arguments[1]), StandardCharsets.UTF_8, ';');
        hierarchies = arguments[2];
        keys = Arrays.asList(arguments[3].split(","));
        suppression = Double.parseDouble(arguments[4]);
        requirements = Arrays.asList(arguments).subList(5, arguments.length);
    }

    public static void main(String[] arguments) throws IOException {
        ArxRun run = new ArxRun(arguments);
        run.define();
        run.searchedFor(WARM_UP);
        double best = Double.POSITIVE_INFINITY;
        for (int at = 0; at < Integer.parseInt(arguments[0]); at++) {
            best = Math.min(best, run.searchedFor(MEASURED));
        }
        System.out.println(best + " " + run.found());
    }

    /** Says what each column is: a key attribute with its hierarchy, sensitive, or neither. */
    private void define() throws IOException {
        DataDefinition definition = data.getDefinition();
        for (int column = 0; column < data.getHandle().getNumColumns(); column++) {
            definition.setAttributeType(data.getHandle().getAttributeName(column), AttributeType.INSENSITIVE_ATTRIBUTE);
        }
        for (String key : keys) {
            definition.setAttributeType(key, hierarchy(key));
        }
        for (String requirement : requirements) {
            String[] parts = requirement.split(":");
            if (parts.length == 3) {
                definition.setAttributeType(parts[1], AttributeType.SENSITIVE_ATTRIBUTE);
            }
        }
    }

    private Hierarchy hierarchy(String attribute) throws IOException {
        return Hierarchy.create(hierarchies + attribute + ".csv", StandardCharsets.UTF_8, ';');
    }

    /** Searches again and again until the seconds have passed, and returns the processor seconds of one search. */
    private double searchedFor(double seconds) throws IOException {
        double spent = 0.0;
        int searches = 0;
        while (spent < seconds) {
            ARXConfiguration wanted = wanted();
            double start = processorSeconds();
            ARXResult result = new ARXAnonymizer().anonymize(data, wanted);
            spent += processorSeconds() - start;
            searches++;
            result.getInput().release();
        }
        return spent / searches;
    }

    /** The best node by the mean loss of the attributes, all of the same weight, a suppressed record being lost in full. */
    private ARXConfiguration wanted() throws IOException {
        ARXConfiguration wanted = ARXConfiguration.create();
        wanted.setSuppressionLimit(suppression);
        wanted.setQualityModel(Metric.createLossMetric(AggregateFunction.ARITHMETIC_MEAN));
        wanted.setAlgorithm(ARXConfiguration.AnonymizationAlgorithm.OPTIMAL);
        for (String requirement : requirements) {
            wanted.addPrivacyModel(model(requirement.split(":")));
        }
        return wanted;
    }

    private PrivacyCriterion model(String[] parts) throws IOException {
        switch (parts[0]) {
            case "k":
                return new KAnonymity(Integer.parseInt(parts[1]));
            case "entropy-l":
                return new EntropyLDiversity(parts[1], Double.parseDouble(parts[2]));
            case "equal-t":
                return new EqualDistanceTCloseness(parts[1], Double.parseDouble(parts[2]));
            case "hierarchical-t":
                return new HierarchicalDistanceTCloseness(parts[1], Double.parseDouble(parts[2]), hierarchy(parts[1]));
            default:
                throw new IllegalArgumentException("no requirement " + parts[0]);
        }
    }

    private static double processorSeconds() {
        com.sun.management.OperatingSystemMXBean system =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e9;
    }

    /** Searches once more, applies what is found, and says it. */
    private String found() throws IOException {
        ARXResult result = new ARXAnonymizer().anonymize(data, wanted());
        ARXNode best = result.getGlobalOptimum();
        int suppressed = result.getOutput(false).getStatistics().getEquivalenceClassStatistics().getNumberOfSuppressedRecords();
        double score = Arrays.stream((double[]) best.getHighestScore().getValue()).average().getAsDouble();
        StringBuilder words = new StringBuilder(score + " " + suppressed);
        for (String key : keys) {
            words.append(' ').append(key).append('=').append(best.getGeneralization(key));
        }
        return words.toString();
    }
}
