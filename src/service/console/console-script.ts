/** Served as `/console.js`. Comfort only: every page is complete without it. */
export const CONSOLE_SCRIPT = `
function offerCopies() {
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
  }
}

// The calendar is one stop of the Tab key; arrows move within it.
function offerArrows() {
  for (const table of document.querySelectorAll('.cal')) {
    const cells = [...table.querySelectorAll('a')];
    for (const cell of cells) cell.tabIndex = -1;
    if (cells[0]) cells[0].tabIndex = 0;
  }
}
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
document.addEventListener('keydown', event => {
  const cell = event.target.closest?.('.cal td');
  const [down, right] = STEPS[event.key] ?? [];
  if (!cell || down === undefined) return;
  event.preventDefault();
  const row = cell.parentElement;
  const target = (down === 0 ? row : down < 0 ? row.previousElementSibling : row.nextElementSibling)
    ?.cells[Math.max(cell.cellIndex + right, 1)]?.querySelector('a');
  if (!target) return;
  event.target.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
});

// Ctrl and Enter sends a query.
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.matches?.('[data-submit]'))
    event.target.form.requestSubmit(event.target.form.querySelector('button.main'));
});

function setUp() {
  offerCopies();
  offerArrows();
}
setUp();

// The same page again whenever there is news, unless somebody is in the middle of something.
let isStill = 'still' in document.body.dataset;
const isBusy = () => document.hidden || document.querySelector('main').contains(document.activeElement);
const isOpen = () => updates?.readyState === EventSource.OPEN;
let updates = null;
// One load at a time: news that comes meanwhile is shown by one more.
let isLoading = false;
let isWanted = false;
async function refresh() {
  isWanted = true;
  if (isLoading) return;
  isLoading = true;
  while (isWanted) {
    isWanted = false;
    await load().catch(() => undefined);
  }
  isLoading = false;
}
async function load() {
  if (isBusy()) return;
  const answer = await fetch(location.href);
  if (!answer.ok || isBusy()) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const open = [...document.querySelectorAll('details')].map(each => each.open);
  fresh.querySelectorAll('details').forEach((each, index) => (each.open = open[index] ?? false));
  document.title = fresh.title;
  isStill = 'still' in fresh.body.dataset;
  if (isStill) updates?.close();
  for (const part of ['main', '.live']) document.querySelector(part)?.replaceWith(fresh.querySelector(part));
  setUp();
  showLive();
}
const showLive = () => {
  document.querySelector('.live').firstChild.data = isOpen() ? 'Live, as of ' : 'As of ';
};
function connect() {
  if (document.hidden || isStill || (updates && updates.readyState !== EventSource.CLOSED)) return;
  updates = new EventSource('/live');
  updates.addEventListener('open', showLive);
  updates.addEventListener('error', showLive);
  updates.addEventListener('change', refresh);
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) updates?.close();
  else connect();
  if (!document.hidden && !isStill) refresh();
});
// Where the server refused, try again later.
setInterval(connect, 30000);
connect();
`;
