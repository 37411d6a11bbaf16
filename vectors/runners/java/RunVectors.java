import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Run test vectors with the JDK alone: `VECTORS=kit java RunVectors.java`. Before Java 22:
 * `javac -d out *.java && VECTORS=kit java -cp out RunVectors`, with Java 17 or later.
 *
 * Copy this file, and put your sampler in place of SmallSampler in the line below. The README of
 * the kit has the fields. A test of JUnit is
 *
 *     @ParameterizedTest
 *     @ValueSource(strings = {"min_p", "top_k", "top_p"})
 *     void isRight(String sampler) throws Exception {
 *         assertEquals(List.of(), RunVectors.problemsOf(sampler));
 *     }
 */
public class RunVectors {
    static final Sampler SAMPLER = new SmallSampler();

    static final Path KIT = Path.of(System.getenv().getOrDefault("VECTORS", "."));
    static final ByteBuffer ROWS = rows();

    interface Sampler {
        /** Returns what is left, or null for a sampler that it lacks. */
        Result sample(String name, Test test);
    }

    record Result(List<Integer> ids, double[] logits, Integer token) {}

    /** The logits are float32 values. Numbers in the parameters are Double, arrays are List. */
    record Test(String id, Map<String, Object> parameters, List<Integer> tokens, Double uniform,
            List<Integer> ids, double[] logits, Map<String, Object> right) {}

    record Report(int right, int skipped, List<String> problems) {}

    public static void main(String[] args) throws IOException {
        boolean wrong = false;
        for (String sampler : samplers()) {
            Report report = report(sampler);
            System.out.println(sampler + ": " + summary(report));
            report.problems().stream().limit(10).forEach(System.out::println);
            wrong |= !report.problems().isEmpty();
        }
        System.exit(wrong ? 1 : 0);
    }

    /** Returns a line "ID: problem" for each wrong vector; a missing sampler is a problem. */
    static List<String> problemsOf(String sampler) throws IOException {
        Report report = report(sampler);
        boolean none = report.right() == 0 && report.problems().isEmpty();
        return none ? List.of(sampler + ": " + summary(report)) : report.problems();
    }

    static String summary(Report report) {
        int n = report.right() + report.problems().size();
        String skipped = String.format(Locale.ROOT, "%,d", report.skipped());
        if (n == 0) return "skipped, " + skipped + " vectors";
        String rest = report.skipped() > 0 ? ", " + skipped + " skipped" : "";
        return report.right() + " of " + n + " right" + rest;
    }

    static Report report(String sampler) throws IOException {
        List<String> problems = new ArrayList<>();
        int right = 0, skipped = 0;
        for (Test test : vectors(sampler)) {
            // Without `right` only the result of llama.cpp is known.
            if (test.right() == null) continue;
            String problem;
            try {
                Result result = SAMPLER.sample(sampler, test);
                problem = result == null ? null : problem(test, result);
            } catch (RuntimeException error) {
                problem = error.toString();
            }
            if (problem == null) skipped++;
            else if (problem.isEmpty()) right++;
            else problems.add(test.id() + ": " + problem);
        }
        return new Report(right, skipped, problems);
    }

    /** Returns what is wrong with a result, or "". */
    static String problem(Test test, Result result) {
        Map<String, Object> right = test.right();
        Map<Integer, Double> before = byId(test.ids(), test.logits());
        Map<Integer, Double> after = byId(result.ids(), result.logits());
        Set<Integer> left = idsLeft(after);
        if (after.size() < result.ids().size()) return "an id comes twice";
        Set<Integer> stay = idsLeft(before);
        if (right.containsKey("stay")) stay = new LinkedHashSet<>(integers(right.get("stay")));
        Set<Integer> may = new HashSet<>(integers(right.getOrDefault("may", List.of())));
        for (int id : stay) {
            if (!left.contains(id)) return "token " + id + " must stay";
        }
        for (int id : left) {
            if (!stay.contains(id) && !may.contains(id)) return "token " + id + " must go";
        }
        int least = integer(right.getOrDefault("least", stay.size()));
        int most = integer(right.getOrDefault("most", stay.size()));
        if (left.size() < least || left.size() > most) {
            return left.size() + " tokens stay, not " + least + " to " + most;
        }
        Map<Integer, Double> low = before, high = before;
        if (right.containsKey("low")) {
            List<Integer> order = test.ids();
            if (right.containsKey("ids")) order = integers(right.get("ids"));
            low = byId(order, numbers(right.get("low")));
            high = byId(order, numbers(right.get("high")));
        }
        for (int id : left) {
            double x = after.get(id);
            // The negation catches NaN too.
            if (!(low.get(id) <= x && x <= high.get(id))) {
                return "token " + id + " has " + x + ", not " + low.get(id) + " to " + high.get(id);
            }
        }
        List<Integer> tokens = integers(right.getOrDefault("tokens", List.of()));
        if (right.containsKey("tokens") && !tokens.contains(result.token())) {
            return "token " + result.token() + " is selected, not " + tokens;
        }
        return "";
    }

    static Map<Integer, Double> byId(List<Integer> ids, double[] values) {
        Map<Integer, Double> map = new LinkedHashMap<>();
        for (int k = 0; k < ids.size(); k++) map.put(ids.get(k), values[k]);
        return map;
    }

    static Set<Integer> idsLeft(Map<Integer, Double> logits) {
        Set<Integer> left = new LinkedHashSet<>();
        logits.forEach((id, x) -> {
            if (x != Double.NEGATIVE_INFINITY) left.add(id);
        });
        return left;
    }

    static List<String> samplers() throws IOException {
        try (Stream<Path> files = Files.list(KIT.resolve("vectors"))) {
            return files.map(file -> file.getFileName().toString().replace(".json", "")).sorted()
                    .toList();
        }
    }

    static List<Test> vectors(String sampler) throws IOException {
        Path path = KIT.resolve("vectors").resolve(sampler + ".json");
        List<Test> vectors = new ArrayList<>();
        Map<String, Object> file = object(new Json(Files.readString(path)).value());
        for (Object item : (List<?>) file.get("tests")) {
            Map<String, Object> of = object(item);
            double[] logits = numbers(of.get("logits"));
            for (int k = 0; k < logits.length; k++) logits[k] = (float) logits[k];
            List<Integer> ids = IntStream.range(0, logits.length).boxed().toList();
            if (of.containsKey("ids")) ids = integers(of.get("ids"));
            List<Integer> tokens = integers(of.getOrDefault("tokens", List.of()));
            vectors.add(new Test((String) of.get("id"), object(of.get("parameters")), tokens,
                    (Double) of.get("uniform"), ids, logits, object(of.get("right"))));
        }
        return vectors;
    }

    static ByteBuffer rows() {
        try {
            byte[] bytes = Files.readAllBytes(KIT.resolve("rows.f32"));
            return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the numbers of a row. */
    static double[] numbers(Object row) {
        if (row instanceof List<?> list) {
            return list.stream().mapToDouble(RunVectors::number).toArray();
        }
        int at = integer(object(row).get("at")), n = integer(object(row).get("n"));
        return IntStream.range(at, at + n).mapToDouble(k -> ROWS.getFloat(4 * k)).toArray();
    }

    static double number(Object value) {
        if (value.equals("inf")) return Double.POSITIVE_INFINITY;
        if (value.equals("-inf")) return Double.NEGATIVE_INFINITY;
        return ((Number) value).doubleValue();
    }

    static int integer(Object value) {
        return ((Number) value).intValue();
    }

    static List<Integer> integers(Object list) {
        return ((List<?>) list).stream().map(RunVectors::integer).toList();
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    /** Reads JSON that is known to be valid: all numbers as Double. */
    static class Json {
        final String text;
        int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object value() {
            return switch (next()) {
                case '{' -> fields();
                case '[' -> items();
                case '"' -> string();
                default -> word();
            };
        }

        char next() {
            while (text.charAt(at) <= ' ') at++;
            return text.charAt(at);
        }

        boolean took(char c) {
            boolean is = next() == c;
            if (is) at++;
            return is;
        }

        Map<String, Object> fields() {
            Map<String, Object> fields = new HashMap<>();
            took('{');
            while (!took('}')) {
                String name = (String) value();
                took(':');
                fields.put(name, value());
                took(',');
            }
            return fields;
        }

        List<Object> items() {
            List<Object> items = new ArrayList<>();
            took('[');
            while (!took(']')) {
                items.add(value());
                took(',');
            }
            return items;
        }

        String string() {
            StringBuilder string = new StringBuilder();
            took('"');
            for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
                string.append(c == '\\' ? escaped() : c);
            }
            return string.toString();
        }

        char escaped() {
            char c = text.charAt(at++);
            if (c == 'u') {
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            int place = "bfnrt".indexOf(c);
            return place < 0 ? c : "\b\f\n\r\t".charAt(place);
        }

        Object word() {
            int start = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            return switch (word) {
                case "true", "false" -> Boolean.valueOf(word);
                case "null" -> null;
                default -> Double.valueOf(word);
            };
        }
    }
}
