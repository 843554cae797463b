import { type Query, SQL } from "drizzle-orm";

type BuildConfig = Parameters<SQL["toQuery"]>[0];
/** Texts by the dialect's function that writes parameters. */
type Texts = Map<BuildConfig["escapeParam"], Query>;

const textsByKey: Map<string, Texts> = new Map();

/** Statement whose text was built before, with other values. */
class CachedStatement extends SQL {
  readonly #texts: Texts;
  readonly #values: unknown[];
  readonly #build: () => SQL;

  constructor(texts: Texts, values: unknown[], build: () => SQL) {
    super([]);
    this.#texts = texts;
    this.#values = values;
    this.#build = build;
  }

  override toQuery(config: BuildConfig): ReturnType<SQL["toQuery"]> {
    let query = this.#texts.get(config.escapeParam);
    if (query === undefined) {
      query = this.#build().toQuery(config);
      if (query.params.some((value, at) => value !== this.#values[at])) {
        throw new Error("The values of a cached statement must be in the order of its text");
      }
      this.#texts.set(config.escapeParam, query);
    }
    return { ...query, params: this.#values };
  }
}

/**
 * Creates a statement whose text is built once: building it with drizzle takes longer than some
 * statements themselves.
 *
 * @param key Identifies the text: few, because each is kept.
 * @param values The parameters, in the order of the text.
 * @param build Builds the statement with these values.
 */
export function cacheStatement(key: string, values: unknown[], build: () => SQL): SQL {
  let texts = textsByKey.get(key);
  if (texts === undefined) textsByKey.set(key, texts = new Map());
  return new CachedStatement(texts, values, build);
}
