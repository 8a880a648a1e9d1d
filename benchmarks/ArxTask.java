import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

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
 * A table that ARX is to anonymise, and what is required of it.
 *
 * Arguments: the table; the start of the hierarchies' paths, to which "NAME.csv" is added; the key attributes, with commas;
 * the share of records that may be suppressed; each requirement: k:5, entropy-l:ATTRIBUTE:3, equal-t:ATTRIBUTE:0.2 or
 * hierarchical-t:ATTRIBUTE:0.2. All files have semicolons.
 */
final class ArxTask {

    final Data data;
    private final String hierarchies;
    private final List<String> keys;
    private final double suppression;
    private final List<String> requirements;

    ArxTask(List<String> arguments) throws IOException {
        data = Data.create(new File(arguments.get(0)), StandardCharsets.UTF_8, ';');
        hierarchies = arguments.get(1);
        keys = Arrays.asList(arguments.get(2).split(","));
        suppression = Double.parseDouble(arguments.get(3));
        requirements = arguments.subList(4, arguments.size());
        define();
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

    /** The best node by the mean loss of the attributes, all of the same weight, a suppressed record being lost in full. */
    ARXConfiguration wanted() throws IOException {
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

    /** The loss, the records suppressed, and for each key NAME=LEVEL. */
    String found(ARXResult result) {
        ARXNode best = result.getGlobalOptimum();
        int suppressed = result.getOutput(false).getStatistics().getEquivalenceClassStatistics().getNumberOfSuppressedRecords();
        double score = Arrays.stream((double[]) best.getHighestScore().getValue()).average().getAsDouble();
        StringBuilder words = new StringBuilder(score + " " + suppressed);
        for (String key : keys) {
            words.append(' ').append(key).append('=').append(best.getGeneralization(key));
        }
        return words.toString();
    }

    /** The clock of the whole process, so that the threads that collect garbage and compile count; it ticks every 10 ms. */
    static double processorSeconds() {
        com.sun.management.OperatingSystemMXBean system =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e9;
    }
}
