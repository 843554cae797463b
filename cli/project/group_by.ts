/** Groups items by a key, in the order of their first item. `Map.groupBy` is not in Node 20. */
export function groupBy<Item>(
  items: Iterable<Item>,
  getKey: (item: Item) => string,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = getKey(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
