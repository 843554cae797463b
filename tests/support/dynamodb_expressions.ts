/** Value of an attribute in the format of DynamoDB's protocol. */
export type AttributeValue = Record<string, unknown>;
/** Item of a table. */
export type Item = Record<string, AttributeValue>;

/** Names and values that expressions refer to. */
export interface ExpressionInput {
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, AttributeValue>;
}

const TOKEN = /\s*(attribute_not_exists|attribute_exists|AND|OR|[#:]?\w+|<=|>=|<>|[<>=(),])/y;

/** Evaluates condition expressions with comparisons, AND, OR, parentheses and the two functions on existence. */
export function evaluateCondition(
  text: string,
  item: Item | undefined,
  input: ExpressionInput,
): boolean {
  const tokens = tokenize(text);
  let at = 0;
  const next = (): string => tokens[at++];
  const expect = (token: string): void => {
    const found = next();
    if (found !== token) throw new TypeError(`expected ${token}, got ${found} in ${text}`);
  };
  const get = (token: string): AttributeValue | undefined =>
    token.startsWith(":")
      ? input.ExpressionAttributeValues?.[token]
      : item?.[token.startsWith("#") ? input.ExpressionAttributeNames![token] : token];

  function parseOr(): boolean {
    let value = parseAnd();
    while (tokens[at] === "OR") {
      next();
      const right = parseAnd();
      value ||= right;
    }
    return value;
  }
  function parseAnd(): boolean {
    let value = parseTerm();
    while (tokens[at] === "AND") {
      next();
      const right = parseTerm();
      value &&= right;
    }
    return value;
  }
  function parseTerm(): boolean {
    const token = next();
    if (token === "(") {
      const value = parseOr();
      expect(")");
      return value;
    }
    if (token === "attribute_exists" || token === "attribute_not_exists") {
      expect("(");
      const exists = get(next()) !== undefined;
      expect(")");
      return exists === (token === "attribute_exists");
    }
    const operator = next();
    return compare(get(token), operator, get(next()));
  }

  const value = parseOr();
  if (at !== tokens.length) throw new TypeError(`unexpected ${tokens[at]} in ${text}`);
  return value;
}

/** Applies an update expression of the form `SET #a = :a, #b = :b`. */
export function applyUpdate(text: string, item: Item, input: ExpressionInput): Item {
  if (!text.startsWith("SET ")) throw new TypeError(`not supported: ${text}`);
  const changed = { ...item };
  for (const assignment of text.slice(4).split(",")) {
    const [name, value] = assignment.split("=").map((part) => part.trim());
    changed[input.ExpressionAttributeNames![name]] = input.ExpressionAttributeValues![value];
  }
  return changed;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const found = TOKEN.exec(text);
    if (found === null) throw new TypeError(`cannot read ${text}`);
    tokens.push(found[1]);
  }
  return tokens;
}

function compare(
  left: AttributeValue | undefined,
  operator: string,
  right: AttributeValue | undefined,
): boolean {
  if (left === undefined || right === undefined) return false;
  const [[leftType, leftValue]] = Object.entries(left);
  const [[rightType, rightValue]] = Object.entries(right);
  if (leftType !== rightType) return false;
  const toComparable = (value: unknown) => leftType === "N" ? Number(value) : String(value);
  const [a, b] = [toComparable(leftValue), toComparable(rightValue)];
  if (operator === "=") return a === b;
  if (operator === "<") return a < b;
  if (operator === ">") return a > b;
  throw new TypeError(`not supported: ${operator}`);
}
