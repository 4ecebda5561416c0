// Assembles the page. `data-rendered` tells a test that all scripts ran.

function fail(message) {
  document.documentElement.dataset.error = message;
  byId('failure').textContent = `This page could not be drawn: ${message}`;
  byId('failure').hidden = false;
}
addEventListener('error', (event) => fail(event.message));

function listenToTools() {
  byId('pan-left').addEventListener('click', () => timeView.pan(-0.5));
  byId('pan-right').addEventListener('click', () => timeView.pan(0.5));
  byId('zoom-in').addEventListener('click', () => timeView.zoom(0.5));
  byId('zoom-out').addEventListener('click', () => timeView.zoom(2));
  byId('zoom-all').addEventListener('click', () => timeView.reset());
  byId('picked-clear').addEventListener('click', () => highlight.clear());
}

function redraw() {
  for (const chart of timeView.charts) chart.draw();
}

try {
  makeFacts();
  makeFigures();
  makeMemoryCharts();
  makeLanesChart();
  makeComparison();
  const frontierChart = makeFrontier();
  makeOps();
  makePeak();
  makeTensors();
  makeTried();
  listenToTools();
  redraw();
  if (frontierChart) {
    frontierChart.draw();
    addEventListener('resize', () => frontierChart.draw());
  }
  addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  document.documentElement.dataset.rendered = 'true';
} catch (error) {
  fail(error.message);
}
