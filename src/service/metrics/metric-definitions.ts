/**
 * Every metric by name: its help and its labels. All but the last are read from Postgres at each scrape, so every process reports the
 * same values. Bookkeeping is deleted after some days, so past events are gauges of the last 24 hours, not counters.
 */
export const METRICS = {
  sluice_rows: ['Rows in the table of the resource, as of its last commit.', 'source', 'resource'],
  sluice_freshness_seconds: [
    'Seconds since the start of the last successful sync. Absent while a part was never read.',
    'source',
    'resource',
  ],
  sluice_overdue_seconds: [
    'Seconds since the first scheduled tick that no successful sync has followed. 0 if there is none, or the schedule is off.',
    'source',
    'resource',
  ],
  sluice_oldest_proof_seconds: [
    'Seconds since the slice with the oldest proof was read in full. Absent while a part was never read.',
    'source',
    'resource',
  ],
  sluice_expected_delay_seconds: [
    'Seconds until a change at the source is expected to arrive, by quantile: mean, or 0.95 of all changes. Absent without a schedule, and while a part was never read.',
    'source',
    'resource',
    'quantile',
  ],
  sluice_measured_delay_seconds: [
    'Mean seconds between the change of a row, by the time that the source gives for it, and its arrival, over the last 24 hours. Absent for lists without such a time, and while nothing arrived.',
    'source',
    'resource',
  ],
  sluice_slices: ['Slices by age of their proof: proven_in_a_day, older, never_read.', 'source', 'resource', 'state'],
  sluice_missing_rows: ['Rows that their slice no longer returns, not yet proven deleted.', 'source', 'resource'],
  sluice_quarantined_records: ['Records in quarantine.', 'source', 'resource'],
  sluice_requests_limit: ['Requests per window that the source allows at present.', 'source'],
  sluice_requests_left: ['Requests that may be sent now.', 'source'],
  sluice_requests_in_window: ['Requests sent during the last window, by lane.', 'source', 'lane'],
  sluice_runs_under_way: ['Runs in progress, by state: running, or waiting for the request limit.', 'source', 'state'],
  sluice_waiting_seconds: [
    'Seconds until the first run that waits for the request limit resumes. Absent while none waits.',
    'source',
  ],
  sluice_runs_in_a_day: [
    'Runs that ended in the last 24 hours, by outcome: done, failed, stopped.',
    'source',
    'resource',
    'kind',
    'outcome',
  ],
  sluice_changes_in_a_day: ['Rows inserted, updated and deleted in the last 24 hours.', 'source', 'resource', 'change'],
  sluice_order_slices: [
    'Slices of an open order, by state: proven since the order was created, or left.',
    'source',
    'order',
    'kind',
    'resource',
    'state',
  ],
  sluice_incidents_open: ['Open incidents, by kind.', 'source', 'kind'],
  sluice_webhooks_received_total: [
    'Webhooks that this process received, by result: hint, nothing (concerns no scheduled resource), refused (wrong secret, too large, or database unavailable).',
    'result',
  ],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

/** The metrics that are read from Postgres. */
export type GaugeName = Exclude<keyof typeof METRICS, 'sluice_webhooks_received_total'>;
