/** A pattern of EventBridge, or a filter policy of SNS over attributes. */
export type EventPattern = Readonly<Record<string, unknown>>;

/**
 * Checks whether an event matches a pattern: every key of the pattern must be present with one of
 * the values. Supports exact values, `prefix`, `suffix`, `exists`, `anything-but` and
 * `equals-ignore-case` (EventBridge user guide, 2026-11). An unknown rule matches nothing.
 *
 * @param value The event, or a part of it.
 */
export function matchesPattern(pattern: EventPattern, value: unknown): boolean {
  return Object.entries(pattern).every(([key, wanted]) => {
    const found = typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)[key]
      : undefined;
    if (!Array.isArray(wanted)) {
      return typeof wanted === "object" && wanted !== null &&
        matchesPattern(wanted as EventPattern, found);
    }
    // one matching element of a list is enough
    const values = Array.isArray(found) ? found : [found];
    return values.some((each) => wanted.some((rule) => matchesRule(rule, each)));
  });
}

function matchesRule(rule: unknown, value: unknown): boolean {
  if (typeof rule !== "object" || rule === null) return rule === value;
  const [[name, operand]] = Object.entries(rule);
  const text = typeof value === "string" ? value : undefined;
  switch (name) {
    case "exists":
      return (value !== undefined) === operand;
    case "prefix":
      return text?.startsWith(String(operand)) === true;
    case "suffix":
      return text?.endsWith(String(operand)) === true;
    case "equals-ignore-case":
      return text?.toLowerCase() === String(operand).toLowerCase();
    case "anything-but":
      return value !== undefined && ![operand].flat().some((each) => matchesRule(each, value));
    default:
      return false;
  }
}
