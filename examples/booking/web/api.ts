/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { ApiError, createClient, unwrap } from "@trellis/fn/client";
import type { routes } from "./api_types.ts";

/** Address of the API. `start.ts` sets it. */
declare const API_URL: string;

/** The client: its types are generated from the handlers, and it sends the session cookie. */
export const client = createClient<routes>({ baseUrl: API_URL, session: "cookie" });

export type Room = Awaited<ReturnType<typeof listRooms>>["items"][number];
export type Booking = Awaited<ReturnType<typeof listBookings>>["items"][number];

/** The signed-in user. */
export interface User {
  readonly email: string;
  readonly role: string;
}

export async function findUser(): Promise<User | undefined> {
  const session = await unwrap(client.GET("/auth/get-session"));
  return (session as { user: User } | null)?.user;
}

export function listRooms(cursor?: string) {
  return unwrap(client.GET("/rooms", { params: { query: { limit: 3, cursor } } }));
}

export function listBookings(cursor?: string) {
  return unwrap(client.GET("/bookings", { params: { query: { limit: 3, cursor } } }));
}

export function listRequests(cursor?: string) {
  const query = { limit: 3, cursor, status: "requested" } as const;
  return unwrap(client.GET("/admin/bookings", { params: { query } }));
}

/** Sends a photo to the bucket, with the form that the API signs. */
export async function uploadPhoto(roomId: string, photo: File): Promise<void> {
  const { url, fields } = await unwrap(
    client.POST("/rooms/{roomId}/photo", {
      params: { path: { roomId } },
      body: { contentType: photo.type },
    }),
  );
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", photo);
  const response = await fetch(url, { method: "POST", body: form });
  if (!response.ok) throw new Error("The bucket refused the file");
}

export function getPhotoUrl(roomId: string): string {
  return `${API_URL}/rooms/${roomId}/photo`;
}

/** Describes an error for the page, with the messages of fields. */
export function describe(error: unknown): string {
  if (!(error instanceof ApiError)) return `failed: ${(error as Error).message}`;
  const fields = Object.entries(error.errors ?? {}).map(([name, texts]) => `${name} ${texts[0]}`);
  return `${error.code}: ${[error.message, ...fields].join(", ")}`;
}
