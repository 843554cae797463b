/** A row of `notes`. */
export interface NoteRow {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly search: string;
}

/** What the tables hold in the end. */
export interface StoredRows {
  readonly notes: readonly NoteRow[];
  readonly deliveries: readonly string[];
  readonly emails: readonly string[];
  /** Users who have no account, and so no password. */
  readonly halfUsers: number;
}

/** Writes that the answers confirmed, to compare with the rows at the end. */
export class Ledger {
  /** Notes that were acknowledged, with the titles that each may have. */
  readonly #notes: Map<string, Set<string>> = new Map();
  readonly #gone: Set<string> = new Set();
  readonly #perhapsGone: Set<string> = new Set();
  /** Titles of notes whose writing was not acknowledged. */
  readonly #perhapsWritten: Set<string> = new Set();
  readonly #deliveries: Set<string> = new Set();
  readonly #emails: Set<string> = new Set();

  /** Notes, deliveries and users that were acknowledged, deleted notes included. */
  get acknowledged(): number {
    return this.#notes.size + this.#deliveries.size + this.#emails.size;
  }

  /** Writes with an unknown result. */
  get unsure(): number {
    return this.#perhapsWritten.size + this.#perhapsGone.size;
  }

  created(id: string, title: string): void {
    this.#notes.set(id, new Set([title]));
  }

  perhapsCreated(title: string): void {
    this.#perhapsWritten.add(title);
  }

  changed(id: string, title: string): void {
    this.#notes.set(id, new Set([title]));
  }

  perhapsChanged(id: string, title: string): void {
    this.#notes.get(id)?.add(title);
  }

  deleted(id: string): void {
    this.#gone.add(id);
    this.#perhapsGone.delete(id);
  }

  perhapsDeleted(id: string): void {
    this.#perhapsGone.add(id);
  }

  delivered(id: string): void {
    this.#deliveries.add(id);
  }

  signedUp(email: string): void {
    this.#emails.add(email);
  }

  /**
   * Compares with what is stored.
   *
   * @param rows All rows.
   * @returns One sentence for each kind of fault, none when all is well.
   */
  compare(rows: StoredRows): string[] {
    const faults = new Map<string, number>();
    const fault = (text: string) => faults.set(text, (faults.get(text) ?? 0) + 1);
    const stored = new Map(rows.notes.map((row) => [row.id, row]));
    const unclaimed = new Set(this.#perhapsWritten);
    for (const row of rows.notes) {
      if (
        row.search !== `${row.title} ${row.body}`.toLowerCase() || row.body !== getBody(row.title)
      ) {
        fault("notes of which a part is written");
      }
      const titles = this.#notes.get(row.id);
      if (titles === undefined ? !unclaimed.delete(row.title) : !titles.has(row.title)) {
        fault("notes that nobody wrote like this, or that were written twice");
      }
    }
    for (const id of this.#notes.keys()) {
      if (this.#gone.has(id)) {
        if (stored.has(id)) fault("notes that came back after they were deleted");
      } else if (!stored.has(id) && !this.#perhapsGone.has(id)) {
        fault("acknowledged notes that are lost");
      }
    }
    const deliveries = new Set(rows.deliveries), emails = new Set(rows.emails);
    for (const id of this.#deliveries) {
      if (!deliveries.has(id)) fault("acknowledged deliveries that are lost");
    }
    for (const email of this.#emails) {
      if (!emails.has(email)) fault("acknowledged users that are lost");
    }
    for (let i = 0; i < rows.halfUsers; i++) fault("users without an account");
    return [...faults].map(([text, count]) => `${count} ${text}`);
  }
}

/**
 * The body that belongs to a title: half of a note can be told from a whole one.
 *
 * @param title The title.
 */
export function getBody(title: string): string {
  return `${title} `.repeat(1 + title.length % 7);
}
