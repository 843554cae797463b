import fc from "fast-check";

/** Values that code does not expect. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, undefined, 0, -1, true, "", "x", [], {}, [null], { length: 2 }),
  // as events come: from JSON
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value))),
);

/**
 * Values of which up to three members, however deep, were replaced, taken away or added.
 *
 * @param sound Values as they should be.
 */
export function mangled(sound: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.record({
    path: fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }),
    value: odd,
  });
  return fc.oneof(
    {
      arbitrary: fc.tuple(sound, fc.array(change, { minLength: 1, maxLength: 3 })).map(apply),
      weight: 20,
    },
    { arbitrary: odd, weight: 1 },
  );
}

function apply([sound, changes]: [unknown, { path: number[]; value: unknown }[]]): unknown {
  const copy = structuredClone(sound);
  for (const { path, value } of changes) {
    let holder = copy as Record<string, unknown>;
    for (const [depth, step] of path.entries()) {
      const keys = Object.keys(holder);
      const key = keys[step % (keys.length + 1)] ?? "added";
      const inner = holder[key];
      if (depth < path.length - 1 && typeof inner === "object" && inner !== null) {
        holder = inner as typeof holder;
      } else {
        holder[key] = value;
        break;
      }
    }
  }
  return copy;
}
