/** Groups items by a key, in the order of their first item. `Map.groupBy` is not in Node 20. */
export function groupBy<Key, Item>(
  items: Iterable<Item>,
  getKey: (item: Item) => Key,
): Map<Key, Item[]> {
  return groupValues(Array.from(items, (item) => [getKey(item), item] as const));
}

/** Splits a list into parts of at most `size` items. */
export function splitEvery<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}

/** Groups the values of pairs by their key, in the order of their first value. */
export function groupValues<Key, Value>(
  pairs: Iterable<readonly [key: Key, value: Value]>,
): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const [key, value] of pairs) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
