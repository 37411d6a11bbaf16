import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** A small right sampler, and four faults: FAULT=crossing, ties, once or reset. */
class SmallSampler implements RunVectors.Sampler {
    static final String FAULT = System.getenv().getOrDefault("FAULT", "");

    @Override
    public RunVectors.Result sample(String name, RunVectors.Test test) {
        return sample(name, test, test.tokens());
    }

    /** Returns a sampler with a state, or null. A generator would take the seed. */
    @Override
    public RunVectors.Instance make(String name, Map<String, Object> parameters, Long seed) {
        boolean has = name.equals("penalties") || name.equals("dist");
        return has ? new WithHistory(name, new ArrayList<>()) : null;
    }

    record WithHistory(String name, List<Integer> tokens) implements RunVectors.Instance {
        @Override
        public RunVectors.Result apply(RunVectors.Test test) {
            return sample(name, test, tokens);
        }

        @Override
        public void accept(int token) {
            tokens.add(token);
        }

        @Override
        public void reset() {
            if (!FAULT.equals("reset")) tokens.clear();
        }

        @Override
        public WithHistory clone() {
            return new WithHistory(name, new ArrayList<>(tokens));
        }
    }

    static RunVectors.Result sample(String name, RunVectors.Test test, List<Integer> tokens) {
        List<Integer> ids = test.ids();
        double[] logits = test.logits();
        Map<String, Object> of = test.parameters();
        List<Integer> order = IntStream.range(0, logits.length).boxed()
                .sorted(Comparator.comparingDouble(i -> -logits[i])).toList();
        if (name.equals("greedy")) {
            return new RunVectors.Result(ids, logits, ids.get(order.get(0)));
        }
        if (name.equals("dist")) {
            int i = drawn(probabilities(logits), test.uniform());
            return new RunVectors.Result(ids, logits, ids.get(i));
        }
        if (name.equals("temp") && number(of, "temp", 1) > 0) {
            double temp = number(of, "temp", 1);
            double[] left = DoubleStream.of(logits).map(x -> x / temp).toArray();
            return new RunVectors.Result(ids, left, null);
        }
        if (name.equals("penalties")) {
            return new RunVectors.Result(ids, penalized(ids, logits, tokens, of), null);
        }
        int n = survivors(name, logits, order, of);
        if (n < 0) return null;
        List<Integer> kept = order.subList(0, Math.min(n, order.size()));
        return new RunVectors.Result(kept.stream().map(ids::get).toList(),
                kept.stream().mapToDouble(i -> logits[i]).toArray(), null);
    }

    /** Returns how many of the largest logits stay; -1 for another sampler. */
    static int survivors(String name, double[] logits, List<Integer> order,
            Map<String, Object> of) {
        int all = order.size();
        int least = Math.max(1, (int) number(of, "min_keep", 0));
        double p = number(of, "p", 1);
        if (name.equals("temp")) return 1;
        if (name.equals("top_k")) {
            int k = (int) number(of, "k", 0);
            k = k > 0 ? Math.min(k, all) : all;
            return FAULT.equals("ties") ? countFrom(logits[order.get(k - 1)], logits) : k;
        }
        if (name.equals("top_p") && p < 1) {
            double[] shares = probabilities(logits);
            double mass = 0;
            for (int n = 1; n <= all; n++) {
                mass += shares[order.get(n - 1)];
                if (mass >= p) return Math.max(FAULT.equals("crossing") ? n - 1 : n, least);
            }
            return all;
        }
        if (name.equals("min_p") && p > 0) {
            double cut = logits[order.get(0)] + Math.log(Math.min(p, 1));
            return Math.max(p <= 1 ? countFrom(cut, logits) : 1, least);
        }
        return name.equals("top_p") || name.equals("min_p") ? all : -1;
    }

    static double number(Map<String, Object> of, String name, double otherwise) {
        return (Double) of.getOrDefault(name, otherwise);
    }

    static int countFrom(double cut, double[] logits) {
        return (int) DoubleStream.of(logits).filter(x -> x >= cut).count();
    }

    static double[] probabilities(double[] logits) {
        double largest = DoubleStream.of(logits).max().getAsDouble();
        double[] weights = DoubleStream.of(logits).map(x -> Math.exp(x - largest)).toArray();
        double sum = DoubleStream.of(weights).sum();
        return DoubleStream.of(weights).map(weight -> weight / sum).toArray();
    }

    static int drawn(double[] shares, double u) {
        double mass = 0;
        int last = 0;
        for (int i = 0; i < shares.length; i++) {
            mass += shares[i];
            if (u < mass) return i;
            if (shares[i] > 0) last = i;
        }
        return last;
    }

    static double[] penalized(List<Integer> ids, double[] logits, List<Integer> tokens,
            Map<String, Object> of) {
        int n = Math.max(0, Math.min((int) number(of, "penalty_last_n", 0), tokens.size()));
        List<Integer> window = tokens.subList(tokens.size() - n, tokens.size());
        double repeat = number(of, "penalty_repeat", 1);
        return IntStream.range(0, logits.length).mapToDouble(k -> {
            int count = Collections.frequency(window, ids.get(k));
            if (count == 0) return logits[k];
            double x = logits[k] <= 0 ? logits[k] * repeat : logits[k] / repeat;
            int times = FAULT.equals("once") ? count : 1;
            return x - count * number(of, "penalty_freq", 0)
                    - times * number(of, "penalty_present", 0);
        }).toArray();
    }
}
