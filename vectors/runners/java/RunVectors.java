import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Run test vectors with the JDK alone: `VECTORS=kit java RunVectors.java`. Before Java 22:
 * `javac -d out *.java && VECTORS=kit java -cp out RunVectors`, with Java 17 or later.
 *
 * Copy this file, and put your sampler in place of SmallSampler in the line below. With EXACT=1 the
 * result must be llama.cpp's to the bit. The README of the kit has the fields. A test of JUnit is
 *
 *     @ParameterizedTest
 *     @ValueSource(strings = {"vectors/top_k", "vectors/top_p", "scripts/penalties"})
 *     void isRight(String file) throws Exception {
 *         assertEquals(List.of(), RunVectors.problemsOf(file));
 *     }
 */
public class RunVectors {
    static final Sampler SAMPLER = new SmallSampler();

    static final boolean EXACT = "1".equals(System.getenv("EXACT"));
    static final Path KIT = Path.of(System.getenv().getOrDefault("VECTORS", "."));
    static final ByteBuffer ROWS = rows();

    interface Sampler {
        /** Returns what is left, or null for a sampler that it lacks. */
        Result sample(String name, Test test);

        /** Makes a sampler with a state, for scripts; null if it is missing. */
        default Instance make(String name, Map<String, Object> parameters, Long seed) {
            return null;
        }
    }

    interface Instance {
        /** Returns what is left. The test has no tokens. */
        Result apply(Test test);

        void accept(int token);

        void reset();

        Instance clone();
    }

    /** What is left. p and sorted may be null; only EXACT=1 compares them. */
    record Result(List<Integer> ids, double[] logits, Integer token, double[] p, Boolean sorted) {
        Result(List<Integer> ids, double[] logits, Integer token) {
            this(ids, logits, token, null, null);
        }
    }

    /** The logits are float32 values. Numbers in the parameters are Double, arrays are List. */
    record Test(Map<String, Object> parameters, List<Integer> tokens, Double uniform,
            List<Integer> ids, double[] logits, double[] p, boolean sorted, Result exact,
            Map<String, Object> right) {}

    record Report(int right, int skipped, List<String> problems) {}

    public static void main(String[] args) throws IOException {
        boolean wrong = false;
        for (String file : files()) {
            Report report = report(file);
            System.out.println(file + ": " + summary(report));
            report.problems().stream().limit(10).forEach(System.out::println);
            wrong |= !report.problems().isEmpty();
        }
        System.exit(wrong ? 1 : 0);
    }

    /** Returns a line "ID: problem" for each wrong test; a missing sampler is a problem. */
    static List<String> problemsOf(String file) throws IOException {
        Report report = report(file);
        boolean none = report.right() == 0 && report.problems().isEmpty();
        return none ? List.of(file + ": " + summary(report)) : report.problems();
    }

    static String summary(Report report) {
        int n = report.right() + report.problems().size();
        String skipped = String.format(Locale.ROOT, "%,d", report.skipped());
        if (n == 0) return "skipped, " + skipped + " tests";
        String rest = report.skipped() > 0 ? ", " + skipped + " skipped" : "";
        return report.right() + " of " + n + " right" + rest;
    }

    static Report report(String file) throws IOException {
        List<String> problems = new ArrayList<>();
        int right = 0, skipped = 0;
        String text = Files.readString(KIT.resolve(file + ".json"));
        Map<String, Object> of = object(new Json(text).value());
        for (Object item : (List<?>) of.get("tests")) {
            Map<String, Object> test = object(item);
            boolean isScript = test.containsKey("calls");
            // Without `right` only the result of llama.cpp is known.
            if (!isScript && !test.containsKey("right") && !EXACT) continue;
            String problem, sampler = (String) of.get("sampler");
            try {
                problem = isScript ? scriptProblem(sampler, test) : vectorProblem(sampler, test);
            } catch (RuntimeException error) {
                problem = error.toString();
            }
            if (problem == null) skipped++;
            else if (problem.isEmpty()) right++;
            else problems.add(test.get("id") + ": " + problem);
        }
        return new Report(right, skipped, problems);
    }

    /** Returns what is wrong after one call, or ""; null if the sampler is missing. */
    static String vectorProblem(String sampler, Map<String, Object> vector) {
        Test test = test(vector, object(vector.get("parameters")));
        Result result = SAMPLER.sample(sampler, test);
        return result == null ? null : problem(test, result);
    }

    /** Returns what is wrong first in a script, or ""; null if the sampler is missing. */
    static String scriptProblem(String sampler, Map<String, Object> script) {
        Map<String, Object> parameters = object(script.get("parameters"));
        Double given = (Double) script.get("seed");
        Long seed = given == null ? null : given.longValue();
        List<Instance> instances = new ArrayList<>();
        for (int n = integer(script.getOrDefault("instances", 1)); n > 0; n--) {
            instances.add(SAMPLER.make(sampler, parameters, seed));
        }
        if (instances.get(0) == null) return null;
        int number = 0;
        for (Object item : (List<?>) script.get("calls")) {
            number++;
            Map<String, Object> call = object(item);
            Instance on = instances.get(integer(call.getOrDefault("on", 0)));
            switch ((String) call.get("call")) {
                case "accept" -> on.accept(integer(call.get("token")));
                case "reset" -> on.reset();
                case "clone" -> instances.add(on.clone());
                default -> {
                    Test test = test(call, parameters);
                    String wrong = problem(test, on.apply(test));
                    if (!wrong.isEmpty()) return "call " + number + ": " + wrong;
                }
            }
        }
        return "";
    }

    /** Returns what is wrong with a result, or "". */
    static String problem(Test test, Result result) {
        Map<String, Object> right = test.right();
        if (EXACT) return exactProblem(test.exact(), result);
        if (right == null) return "";
        List<Integer> tokens = integers(right.getOrDefault("tokens", List.of()));
        if (right.containsKey("tokens") && !tokens.contains(result.token())) {
            return "token " + result.token() + " is selected, not " + tokens;
        }
        if (right.containsKey("token_alone")) return "";
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
        return "";
    }

    /** Returns where a result differs from llama.cpp's, or "". */
    static String exactProblem(Result exact, Result result) {
        if (!result.ids().equals(exact.ids())) return "other ids are left, or in another order";
        // Arrays.equals takes NaN as equal, and 0 and -0 as different.
        if (!Arrays.equals(rounded(result.logits()), exact.logits())) return "logits differ";
        if (result.p() != null && !Arrays.equals(rounded(result.p()), exact.p())) return "p differ";
        if (exact.token() != null && !exact.token().equals(result.token())) {
            return "token " + result.token() + " is selected, not " + exact.token();
        }
        boolean same = result.sorted() == null || result.sorted().equals(exact.sorted());
        return same ? "" : "sorted is " + result.sorted();
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

    /** Returns the files of tests: "vectors/top_k", and so on. */
    static List<String> files() {
        List<String> names = new ArrayList<>();
        for (String kind : List.of("scripts", "vectors")) {
            // Git and zip drop an empty folder.
            File[] files = KIT.resolve(kind).toFile().listFiles();
            for (File file : files == null ? new File[0] : files) {
                String name = file.getName();
                if (name.endsWith(".json")) names.add(kind + "/" + name.replace(".json", ""));
            }
        }
        Collections.sort(names);
        return names;
    }

    /** Returns a vector, or a call of apply. What `exact` leaves out is as in the input. */
    static Test test(Map<String, Object> of, Map<String, Object> parameters) {
        double[] logits = rounded(numbers(of.get("logits")));
        double[] p = new double[logits.length];
        if (of.containsKey("p")) p = rounded(numbers(of.get("p")));
        List<Integer> ids = IntStream.range(0, logits.length).boxed().toList();
        if (of.containsKey("ids")) ids = integers(of.get("ids"));
        List<Integer> tokens = integers(of.getOrDefault("tokens", List.of()));
        boolean sorted = ((List<?>) of.getOrDefault("flags", List.of())).contains("sorted");

        Map<String, Object> left = object(of.get("exact"));
        List<Integer> idsLeft = left.containsKey("ids") ? integers(left.get("ids")) : ids;
        Object token = left.get("token");
        Result exact = new Result(idsLeft, rowLeft(left.get("logits"), byId(ids, logits), idsLeft),
                token == null ? null : integer(token),
                rowLeft(left.get("p"), byId(ids, p), idsLeft),
                (Boolean) left.getOrDefault("sorted", sorted));
        return new Test(parameters, tokens, (Double) of.get("uniform"), ids, logits, p, sorted,
                exact, object(of.get("right")));
    }

    static double[] rowLeft(Object row, Map<Integer, Double> before, List<Integer> ids) {
        if (row != null) return rounded(numbers(row));
        return ids.stream().mapToDouble(before::get).toArray();
    }

    static double[] rounded(double[] values) {
        return DoubleStream.of(values).map(x -> (float) x).toArray();
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
        if (value.equals("nan")) return Double.NaN;
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
