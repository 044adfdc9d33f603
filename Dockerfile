# relaxfuzz in a container: a campaign runs code that nobody has reviewed.
#
#   docker build -t relaxfuzz .
#   docker run --rm --network none -v "$PWD/out:/out" relaxfuzz run --time 10m --out /out/campaign
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src && useradd --create-home fuzz && mkdir /out && chown fuzz /out
USER fuzz
WORKDIR /home/fuzz
ENTRYPOINT ["relaxfuzz"]
CMD ["--help"]
