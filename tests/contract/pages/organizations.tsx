"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError } from "@trellis/fn/client";
import { api } from "./api";

/** Lists the organizations of the signed-in user, and creates others. */
export function Organizations() {
  const queries = useQueryClient();
  const { data, error: failure } = useQuery(api.query("/auth/organization/list"));
  const { mutate, error } = useMutation({
    ...api.mutation("POST", "/auth/organization/create"),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["GET", "/auth/organization/list"] }),
  });

  function create(form: FormData): void {
    mutate({ body: { name: String(form.get("name")), slug: String(form.get("slug")) } });
  }

  if (failure instanceof ApiError) return <p role="alert">Status {failure.status}</p>;
  return (
    <>
      <ul>{data?.map(({ id, name }) => <li key={id}>{name}</li>)}</ul>
      <form action={create}>
        <input name="name" />
        <input name="slug" />
        <button>Create</button>
        <p role="alert">{error instanceof ApiError && `Status ${error.status}: ${error.code}`}</p>
      </form>
    </>
  );
}
